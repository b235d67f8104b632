#include "train/checkpoint.hpp"

#include <algorithm>
#include <bit>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "io/refuse_file.hpp"
#include "io/safetensors.hpp"
#include "models/stored_tensor.hpp"
#include "rcap/core/error.hpp"
#include "train/run_folder.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* TensorsName = "training.safetensors";
constexpr const char* PrunerName = "pruner.rcap";
constexpr const char* NamePattern = "epoch-{:06}-batch-{:06}";
constexpr const char* StateKey = "rcap_run_state";
constexpr const char* FrozenKey = "frozen_parameters";
constexpr const char* OptionsKey = "rcap_run_options";

std::string to_text(const RunState& state) {
  Json json;
  json["epoch"] = state.epoch;
  json["batch"] = state.batch;
  json["step"] = state.step;
  json["samples_seen"] = state.samples_seen;
  if (state.forward_samples) json["forward_samples"] = *state.forward_samples;
  // As bits, since a number written as text might not be read back exactly.
  json["class_loss_sum_bits"] = Json::array();
  for (const double sum : state.class_loss_sums) {
    json["class_loss_sum_bits"].push_back(std::bit_cast<std::uint64_t>(sum));
  }
  json["epoch_seconds"] = state.epoch_seconds;
  json["run_seconds"] = state.run_seconds;
  return json.dump();
}

RunState from_text(const fs::path& path, const std::string& text) {
  try {
    const Json json = Json::parse(text);
    RunState state;
    state.epoch = json.at("epoch").get<std::int64_t>();
    state.batch = json.at("batch").get<std::int64_t>();
    state.step = json.at("step").get<std::int64_t>();
    state.samples_seen = json.at("samples_seen").get<std::int64_t>();
    state.forward_samples.reset();
    if (const auto forward = json.find("forward_samples"); forward != json.end()) {
      state.forward_samples = forward->get<std::int64_t>();
    }
    for (const Json& bits : json.at("class_loss_sum_bits")) {
      state.class_loss_sums.push_back(std::bit_cast<double>(bits.get<std::uint64_t>()));
    }
    state.epoch_seconds = json.at("epoch_seconds").get<Seconds>();
    state.run_seconds = json.at("run_seconds").get<Seconds>();
    return state;
  } catch (const Json::exception& error) {
    refuse_file(path, "the state of the run is damaged: {}", error.what());
  }
}

std::string to_text(const TrainOptions& options) {
  Json json = Json::object();
  for (const auto& [name, word] : words_of(options)) json[name] = word;
  return json.dump();
}

TrainOptions options_from_text(const fs::path& path, const std::string& text) {
  try {
    const Json words = Json::parse(text);
    std::vector<GivenOption> given;
    for (const auto& [name, word] : words.items()) {
      given.push_back({name, word.get<std::string>()});
    }
    return make_options(given, Reader::File);
  } catch (const Json::exception& error) {
    refuse_file(path, "the options of the run are damaged: {}", error.what());
  }
}

/// Copies a stored tensor over one of the same shape and type.
void copy_over(const fs::path& path, const TensorView& stored, const torch::Tensor& tensor) {
  const torch::Tensor values = tensor_of(stored);
  if (values.sizes() != tensor.sizes() || values.scalar_type() != tensor.scalar_type()) {
    throw StateMismatch(
        fmt::format("{}: tensor {} has shape {}, the network needs {}; resume with the network the "
                    "run began with",
                    path.string(), stored.name, stored.shape, tensor.sizes().vec()));
  }
  tensor.copy_(values);
}

void load_tensors(const fs::path& path, const SafetensorsFile& file, const NamedTensors& tensors) {
  const torch::NoGradGuard no_grad;
  for (const auto& [name, tensor] : tensors) {
    const TensorView* stored = file.find(name);
    if (stored == nullptr) {
      throw StateMismatch(fmt::format(
          "{}: has no tensor {}; resume with the network and optimiser the run began with",
          path.string(), name));
    }
    copy_over(path, *stored, tensor);
  }
}

std::string frozen_text(const Engine& engine) {
  return fmt::format("{:016x}", engine.frozen_fingerprint());
}

void sync_folder(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);  // if the file system cannot, there is nothing more to do
  ::close(descriptor);
}

}  // namespace

std::vector<fs::path> Checkpoints::found() const { return checkpoints_in(folder_); }

bool Checkpoints::any() const { return !found().empty(); }

void Checkpoints::save(const RunState& state, const Engine& engine, const Pruner& pruner) const {
  const fs::path target = folder_ / fmt::format(NamePattern, state.epoch, state.batch);
  // It exists if the run was resumed from it and has made no progress since.
  if (!fs::exists(target)) write(target, state, engine, pruner);
  std::error_code ignored;
  for (const fs::path& path : found()) {
    if (path != target) fs::remove_all(path, ignored);
  }
}

void Checkpoints::write(const fs::path& target, const RunState& state, const Engine& engine,
                        const Pruner& pruner) const {
  const fs::path temporary = folder_ / ".unfinished";
  std::error_code error;
  fs::remove_all(temporary, error);
  fs::create_directories(temporary, error);
  if (error) refuse_file(temporary, "cannot be created: {}", error.message());
  save_tensors(temporary / TensorsName, engine.state(),
               {{StateKey, to_text(state)},
                {FrozenKey, frozen_text(engine)},
                {OptionsKey, to_text(options_)}});
  pruner.save(temporary / PrunerName);
  fs::rename(temporary, target, error);
  if (error) refuse_file(target, "cannot be renamed: {}", error.message());
  sync_folder(folder_);
}

void Checkpoints::require_same_options(const fs::path& path,
                                       const std::map<std::string, std::string>& metadata) const {
  const auto stored = metadata.find(OptionsKey);
  if (stored == metadata.end()) return;  // written by an older version
  const std::string difference =
      difference_of(options_from_text(path, stored->second), options_, Reader::File);
  if (difference.empty()) return;
  throw StateMismatch(
      fmt::format("{}: was written with other options than options.toml has now: {}; restore them",
                  path.string(), difference));
}

RunState Checkpoints::load(Engine& engine, Pruner& pruner) const {
  const fs::path newest = found().back();
  const SafetensorsFile file(newest / TensorsName);
  const auto text = file.metadata().find(StateKey);
  if (text == file.metadata().end()) {
    refuse_file(newest / TensorsName, "is not a checkpoint of a run");
  }
  const auto frozen = file.metadata().find(FrozenKey);
  if (frozen == file.metadata().end() || frozen->second != frozen_text(engine)) {
    throw StateMismatch(
        fmt::format("{}: the frozen part of the network has changed; resume with the weights file "
                    "the run began with",
                    (newest / TensorsName).string()));
  }
  require_same_options(newest / TensorsName, file.metadata());
  const RunState state = from_text(newest / TensorsName, text->second);
  pruner.load(newest / PrunerName);
  load_tensors(newest / TensorsName, file, engine.state());
  return state;
}

}  // namespace rcap
