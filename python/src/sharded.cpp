#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "bindings.hpp"
#include "rcap/core/sharded_pruner.hpp"

namespace rcap::python {
namespace {

using ByteArray = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu, std::uint8_t>;

/// An exchange that a Python object makes. The core calls it without the interpreter's lock.
class PythonExchange final : public Exchange {
 public:
  explicit PythonExchange(nb::object made_by)
      : made_by_(std::move(made_by)),
        rank_(nb::cast<int>(made_by_.attr("rank"))),
        size_(nb::cast<int>(made_by_.attr("size"))) {
    if (size_ < 1 || rank_ < 0 || rank_ >= size_) {
      throw InvalidArgument("exchange: rank " + std::to_string(rank_) + " of " +
                            std::to_string(size_) + "; ranks count from 0 to below their number");
    }
  }

  [[nodiscard]] int rank() const noexcept override { return rank_; }
  [[nodiscard]] int size() const noexcept override { return size_; }
  [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_; }

  void all_reduce(std::span<std::int64_t> numbers, Combine combine) override {
    bytes_ += static_cast<std::int64_t>(numbers.size_bytes());
    ask([&] {
      const nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>> view(numbers.data(),
                                                                   {numbers.size()});
      made_by_.attr("all_reduce")(nb::cast(view, nb::rv_policy::reference),
                                  combine == Combine::Sum ? "sum" : "max");
    });
  }

  [[nodiscard]] std::vector<RankBytes> all_gather(std::span<const std::byte> bytes) override {
    std::vector<RankBytes> all;
    ask([&] { all = taken(made_by_.attr("all_gather")(view_of(bytes)), "all_gather"); });
    for (const RankBytes& of_rank : all) bytes_ += std::ssize(of_rank);
    return all;
  }

  [[nodiscard]] std::vector<RankBytes> all_to_all(std::vector<RankBytes> parts) override {
    std::vector<RankBytes> received;
    for (const RankBytes& part : parts) bytes_ += std::ssize(part);
    ask([&] {
      nb::list views;
      for (const RankBytes& part : parts) views.append(view_of(part));
      received = taken(made_by_.attr("all_to_all")(views), "all_to_all");
    });
    return received;
  }

 private:
  /// Valid while the bytes are.
  static nb::object view_of(std::span<const std::byte> bytes) {
    using View = nb::ndarray<nb::numpy, const std::uint8_t, nb::ndim<1>>;
    return nb::cast(View(bytes.data(), {bytes.size()}), nb::rv_policy::reference);
  }

  [[nodiscard]] std::vector<RankBytes> taken(const nb::object& arrays, const char* what) const {
    std::vector<RankBytes> all;
    for (const nb::handle array : arrays) {
      const auto view = nb::cast<ByteArray>(array);
      const auto* const data = reinterpret_cast<const std::byte*>(view.data());
      all.emplace_back(data, data + view.size());
    }
    if (std::cmp_not_equal(all.size(), size_)) {
      throw InvalidArgument(std::string("exchange: ") + what + " returned " +
                            std::to_string(all.size()) + " arrays for " + std::to_string(size_) +
                            " ranks; return one for each");
    }
    return all;
  }

  template <class Call>
  void ask(const Call& call) {
    if (has_failed_) {
      throw InternalError(
          "an exchange failed before, so ranks may differ; load the last state into a new pruner");
    }
    const nb::gil_scoped_acquire lock;
    has_failed_ = true;
    call();
    has_failed_ = false;
  }

  nb::object made_by_;
  int rank_, size_;
  std::int64_t bytes_ = 0;
  bool has_failed_ = false;
};

/// What the Python object holds.
struct ShardedHandle {
  std::unique_ptr<PythonExchange> exchange;
  std::unique_ptr<ShardedPruner> pruner;
  std::atomic<bool> is_busy = false;

  ShardedHandle(const std::string& method, nb::handle labels, ShardRange range,
                std::int64_t sample_count, nb::object exchange_object,
                std::optional<std::int64_t> class_count, const nb::kwargs& given)
      : exchange(std::make_unique<PythonExchange>(std::move(exchange_object))) {
    if (class_count && !std::in_range<ClassId>(*class_count)) {
      throw InvalidArgument("class_count is " + std::to_string(*class_count) +
                            "; there cannot be that many classes");
    }
    const MethodInfo& info = require_method(method);
    const PrunerOptions options = options_from(info, given);
    const Array array = as_array("labels", labels);
    range.sample_count = static_cast<std::int64_t>(array.size());
    with_integers("labels", array, [&](auto values) {
      const nb::gil_scoped_release released;
      const Shard shard(range, sample_count, *exchange);
      const auto classes =
          std::make_shared<const ClassIndex>(values, shard, std::optional<ClassId>(class_count));
      pruner = std::make_unique<ShardedPruner>(method, classes, options);
    });
  }
};

/// While it lives, no other thread may use the pruner.
class Use {
 public:
  explicit Use(ShardedHandle& handle) : handle_(handle) {
    if (handle.is_busy.exchange(true)) {
      throw InvalidArgument(
          "ShardedPruner: another thread is using it; ranks must exchange in the same order, so "
          "use "
          "it from one thread at a time");
    }
  }
  ~Use() { handle_.is_busy = false; }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  ShardedHandle& handle_;
};

/// Calls `act` without the interpreter's lock.
template <class Act>
auto act_on(ShardedHandle& self, const Act& act) {
  const Use use(self);
  const nb::gil_scoped_release released;
  return act(*self.pruner);
}

nb::tuple select_part(ShardedHandle& self, std::int64_t epoch, const std::string& locality) {
  if (locality != "everywhere" && locality != "shard") {
    throw InvalidArgument("select: locality is \"" + locality +
                          "\"; it must be \"everywhere\" or \"shard\"");
  }
  Selection part = act_on(self, [&](ShardedPruner& pruner) {
    return pruner.select(epoch, locality == "shard" ? Locality::Shard : Locality::Everywhere);
  });
  nb::object weights = nb::none();
  if (!part.weights.empty()) weights = nb::cast(as_numpy(std::move(part.weights)));
  return nb::make_tuple(as_numpy(std::move(part.ids)), weights);
}

template <bool Late>
void observe(ShardedHandle& self, nb::handle ids_object, nb::handle losses_object) {
  const std::string where = Late ? "observe_late" : "observe";
  std::vector<SampleId> storage;
  const Array ids_array = as_array(where + ": ids", ids_object);
  const Array losses = as_array(where + ": losses", losses_object);
  const auto ids = as_ids(where + ": ids", ids_array, storage);
  const auto observe_spans = [&](auto values) {
    const Use use(self);
    if constexpr (Late) {
      self.pruner->observe_late(ids, values);
    } else {
      self.pruner->observe(ids, values);
    }
  };
  if (losses.dtype() == nb::dtype<float>()) return observe_spans(span_of<float>(losses));
  if (losses.dtype() == nb::dtype<double>()) return observe_spans(span_of<double>(losses));
  refuse_type(where + ": losses", "float32 or float64", losses.dtype());
}

/// Calls `act(pruner, ids)`.
template <class Act>
void with_ids(ShardedHandle& self, const std::string& where, nb::handle object, const Act& act) {
  std::vector<SampleId> storage;
  const Array array = as_array(where + ": ids", object);
  const auto ids = as_ids(where + ": ids", array, storage);
  const Use use(self);
  act(*self.pruner, ids);
}

/// The rows of one field as an array.
nb::object rows_of(const ShardRows& rows) {
  const auto array = [&]<class T>(T) {
    std::vector<T> values(rows.bytes.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), rows.bytes.data(), rows.bytes.size());
    return nb::cast(as_numpy(std::move(values)));
  };
  switch (rows.type) {
    case ShardRows::Type::Losses:
      return array(float{});
    case ShardRows::Type::Chances:
      return array(std::uint16_t{});
    case ShardRows::Type::Samples:
      break;
  }
  return array(std::uint64_t{});
}

constexpr const char* CommonName = "common";

nb::dict shard_state(ShardedHandle& self) {
  const ShardState state = act_on(self, [](ShardedPruner& pruner) { return pruner.shard_state(); });
  nb::dict arrays;
  const auto* const common = reinterpret_cast<const std::uint8_t*>(state.common.data());
  arrays[CommonName] = as_numpy(std::vector<std::uint8_t>(common, common + state.common.size()));
  for (const ShardRows& rows : state.fields) arrays[rows.name.c_str()] = rows_of(rows);
  return arrays;
}

void set_shard_state(ShardedHandle& self, const nb::dict& arrays) {
  ShardState state;
  for (const auto& [key, value] : arrays) {
    const auto name = nb::cast<std::string>(key);
    const Array array = as_array("set_shard_state: " + name, value);
    const auto* const data = static_cast<const std::byte*>(array.data());
    RankBytes bytes(data, data + array.nbytes());
    if (name == CommonName) {
      state.common = std::move(bytes);
      continue;
    }
    const auto type = array.dtype() == nb::dtype<float>()           ? ShardRows::Type::Losses
                      : array.dtype() == nb::dtype<std::uint16_t>() ? ShardRows::Type::Chances
                                                                    : ShardRows::Type::Samples;
    state.fields.push_back({name, type, std::move(bytes)});
  }
  act_on(self, [&](ShardedPruner& pruner) { pruner.set_shard_state(state); });
}

nb::object gather_state(ShardedHandle& self) {
  RankBytes state;
  act_on(self, [&](ShardedPruner& pruner) {
    pruner.write_state([&](std::span<const std::byte> bytes) {
      state.insert(state.end(), bytes.begin(), bytes.end());
    });
  });
  if (self.exchange->rank() > 0) return nb::none();
  return nb::bytes(state.data(), state.size());
}

/// A property that every rank knows.
template <class Ask>
auto of_pruner(const Ask& ask) {
  return [ask](const ShardedHandle& self) { return ask(self.pruner->pruner()); };
}

}  // namespace

void bind_sharded(nb::module_& module) {
  module.def(
      "shard_range",
      [](std::int64_t sample_count, int rank_count, int rank) {
        const ShardRange range = shard_range(sample_count, rank_count, rank);
        return nb::make_tuple(range.first_id, range.sample_count);
      },
      nb::arg("sample_count"), nb::arg("rank_count"), nb::arg("rank"),
      nb::sig("def shard_range(sample_count: int, rank_count: int, rank: int) -> tuple[int, int]"),
      "The first id of a rank's samples, and how many there are, if they are spread evenly.");

  nb::class_<ShardedHandle>(
      module, "ShardedPruner",
      "One rank's part of a pruner whose data set is cut into shards: each rank has the labels and "
      "losses of its own samples alone. What all ranks select together, the order, the weights and "
      "the state are those of one process.\n\n"
      "All ranks call the constructor, `select`, `exchange_losses`, `pending_count`, "
      "`average_batches`, `observe_classes` and the functions of the state, in the same order. For "
      "frameworks; PyTorch's is `rcap.torch.ShardedSampler`.\n\n"
      "Args:\n"
      "    method: The name of a method: rcap, balanced, rs2, rs2-replace, infobatch, top-loss or "
      "ucb.\n"
      "    labels: The classes of this rank's samples, integers.\n"
      "    first_id: The id of the first of them: a multiple of 64 (`shard_range`).\n"
      "    total: How many samples all ranks have.\n"
      "    exchange: An object with the numbers `rank` and `size` and the functions "
      "`all_reduce(numbers, op)`, in place, on an int64 array, with op \"sum\" or \"max\"; "
      "`all_gather(data)`, from a uint8 array to a list of one for each rank; and "
      "`all_to_all(parts)`, from such a list, one for each rank, to what each rank had for this "
      "one. An exception of it ends the call; the pruner is then of no more use.\n"
      "    class_count: Number of classes; by default the largest label of all ranks + 1.\n"
      "    options: Those of the method.")
      .def(
          "__init__",
          [](ShardedHandle* self, const std::string& method, nb::object labels,
             std::int64_t first_id, std::int64_t total, nb::object exchange,
             std::optional<std::int64_t> class_count, const nb::kwargs& options) {
            new (self) ShardedHandle(method, labels, {first_id, 0}, total, std::move(exchange),
                                     class_count, options);
          },
          nb::arg("method"), nb::arg("labels"), nb::kw_only(), nb::arg("first_id"),
          nb::arg("total"), nb::arg("exchange"), nb::arg("class_count") = nb::none(),
          nb::arg("options"),
          nb::sig("def __init__(self, method: str, labels: object, *, first_id: int, total: int, "
                  "exchange: object, class_count: int | None = None, **options: typing.Any) -> "
                  "None"))
      .def_prop_ro("method",
                   of_pruner([](const Pruner& pruner) { return std::string(pruner.method()); }))
      .def_prop_ro("options", of_pruner([](const Pruner& pruner) { return pruner.options(); }),
                   "\"name=value\" of each option that shapes selections.")
      .def_prop_ro("learns", of_pruner([](const Pruner& pruner) { return pruner.learns(); }))
      .def_prop_ro("weighs", of_pruner([](const Pruner& pruner) { return pruner.weighs(); }))
      .def_prop_ro("follows_rate",
                   of_pruner([](const Pruner& pruner) { return pruner.follows_rate(); }))
      .def_prop_ro("judges_classes",
                   of_pruner([](const Pruner& pruner) { return pruner.judges_classes(); }))
      .def_prop_ro("averages_batches",
                   of_pruner([](const Pruner& pruner) { return pruner.averages_batches(); }))
      .def_prop_ro("needs_initial_losses",
                   of_pruner([](const Pruner& pruner) { return pruner.needs_initial_losses(); }))
      .def_prop_ro("takes_initial_losses",
                   of_pruner([](const Pruner& pruner) { return pruner.takes_initial_losses(); }))
      .def_prop_ro("keep_count",
                   of_pruner([](const Pruner& pruner) { return pruner.keep_count(); }),
                   "How many samples a pruned epoch trains on, on all ranks.")
      .def_prop_ro("epoch", of_pruner([](const Pruner& pruner) { return pruner.epoch(); }),
                   "The epoch last selected; -1 before the first.")
      .def_prop_ro("clipped_part",
                   of_pruner([](const Pruner& pruner) { return pruner.clipped_part(); }))
      .def_prop_ro("class_count",
                   of_pruner([](const Pruner& pruner) { return pruner.classes().class_count(); }))
      .def_prop_ro("class_sizes", of_pruner([](const Pruner& pruner) {
                     const auto sizes = pruner.classes().class_sizes();
                     return as_numpy(std::vector<std::int64_t>(sizes.begin(), sizes.end()));
                   }),
                   nb::for_getter(nb::sig("def class_sizes(self) -> NDArray[numpy.int64]")),
                   "How many samples each class has, on all ranks.")
      .def_prop_ro("label_fingerprint",
                   of_pruner([](const Pruner& pruner) { return pruner.classes().fingerprint(); }),
                   "That of all labels, as of one process.")
      .def_prop_ro("total",
                   of_pruner([](const Pruner& pruner) { return pruner.classes().sample_count(); }),
                   "How many samples all ranks have.")
      .def_prop_ro("first_id",
                   [](const ShardedHandle& self) { return self.pruner->shard().first_id(); })
      .def_prop_ro(
          "count", [](const ShardedHandle& self) { return self.pruner->shard().sample_count(); },
          "How many samples this rank has.")
      .def_prop_ro("rank", [](const ShardedHandle& self) { return self.exchange->rank(); })
      .def_prop_ro("size", [](const ShardedHandle& self) { return self.exchange->size(); })
      .def_prop_ro(
          "selected_count", [](const ShardedHandle& self) { return self.pruner->selected_count(); },
          "How many samples the current selection has, on all ranks.")
      .def_prop_ro(
          "bytes_exchanged", [](const ShardedHandle& self) { return self.exchange->bytes(); },
          "Since the pruner was made: the numbers that were reduced, what was gathered, and what "
          "this rank sent.")
      .def("select", select_part, nb::arg("epoch"), nb::arg("locality") = "everywhere",
           nb::sig("def select(self, epoch: int, locality: str = 'everywhere') -> "
                   "tuple[NDArray[numpy.int64], NDArray[numpy.float32] | None]"),
           "This rank's samples of an epoch, in the order of training, and their weights, None if "
           "all are 1. Position p of the order goes to rank p % size; with locality \"shard\" "
           "samples stay with the ranks that have them, except for what evens out the counts.")
      .def(
          "observe", observe<false>, nb::arg("ids"), nb::arg("losses"),
          "Remembers losses of the current selection until `exchange_losses`, which brings them to "
          "the ranks that have the samples.")
      .def("observe_late", observe<true>, nb::arg("ids"), nb::arg("losses"),
           "The same for losses of an earlier selection.")
      .def(
          "pass_over",
          [](ShardedHandle& self, nb::handle ids) {
            with_ids(self, "pass_over", ids,
                     [](ShardedPruner& pruner, auto found) { pruner.pass_over(found); });
          },
          nb::arg("ids"), "The same for samples whose losses are not known.")
      .def(
          "observe_batch",
          [](ShardedHandle& self, nb::handle ids, double mean_loss) {
            with_ids(self, "observe_batch", ids, [mean_loss](ShardedPruner& pruner, auto found) {
              pruner.observe_batch(found, mean_loss);
            });
          },
          nb::arg("ids"), nb::arg("mean_loss"), "The same for the mean loss of a batch.")
      .def(
          "average_batches",
          [](ShardedHandle& self, double decay) {
            act_on(self, [decay](ShardedPruner& pruner) { pruner.average_batches(decay); });
          },
          nb::arg("decay") = BatchMeans::UsualDecay)
      .def(
          "exchange_losses",
          [](ShardedHandle& self) {
            act_on(self, [](ShardedPruner& pruner) { pruner.exchange_losses(); });
          },
          "Brings what was observed to the ranks that have the samples; `select` does so first.")
      .def(
          "observe_classes",
          [](ShardedHandle& self, nb::handle errors) {
            const std::vector<double> numbers =
                numbers_of<double>("observe_classes: errors", errors);
            act_on(self, [&](ShardedPruner& pruner) { pruner.observe_classes(numbers); });
          },
          nb::arg("errors"), "As `Pruner.observe_classes`; the same errors on every rank.")
      .def(
          "pending_count",
          [](ShardedHandle& self) {
            return act_on(self, [](ShardedPruner& pruner) { return pruner.pending_count(); });
          },
          "Samples of the current selection that have not been observed yet, on all ranks.")
      .def(
          "log_prior",
          [](const ShardedHandle& self) { return as_numpy(self.pruner->pruner().log_prior()); },
          "As `Pruner.log_prior`, of all ranks.")
      .def("gather_state", gather_state, nb::sig("def gather_state(self) -> bytes | None"),
           "The state of all ranks on rank 0, the bytes that one process has; None elsewhere.")
      .def(
          "save",
          [](ShardedHandle& self, const std::filesystem::path& path) {
            act_on(self, [&](ShardedPruner& pruner) { pruner.save(path); });
          },
          nb::arg("path"),
          "Writes the same to a file, atomically, on rank 0. It is never in memory as a whole.")
      .def(
          "load",
          [](ShardedHandle& self, const std::filesystem::path& path) {
            act_on(self, [&](ShardedPruner& pruner) { pruner.load(path); });
          },
          nb::arg("path"),
          "Continues from a state file of one process or of any number of ranks; every rank reads "
          "its part.")
      .def(
          "set_state",
          [](ShardedHandle& self, const nb::bytes& bytes) {
            const std::span state{static_cast<const std::byte*>(bytes.data()), bytes.size()};
            act_on(self, [state](ShardedPruner& pruner) { pruner.set_state(state); });
          },
          nb::arg("state"), "The same from the bytes of a whole state, which every rank has.")
      .def("shard_state", shard_state,
           nb::sig("def shard_state(self) -> dict[str, NDArray[typing.Any]]"),
           "This rank's part of the state, for checkpoints that cut arrays by rows. \"common\" is "
           "the same on all ranks. Every other array has a row for each of this rank's samples or, "
           "of type uint64, for each 64 of them; those of all ranks, one after another, are the "
           "whole.")
      .def("set_shard_state", set_shard_state, nb::arg("state"),
           nb::sig("def set_shard_state(self, state: dict[str, NDArray[typing.Any]]) -> None"),
           "Continues from such a state, saved on any number of ranks: \"common\" and the rows of "
           "this rank's samples.");
}

}  // namespace rcap::python
