#include "data/packs/pack_tables.hpp"

#include <cstddef>

#include <fmt/format.h>

#include "base/quoting.hpp"
#include "rcap/core/error.hpp"

namespace rcap {

using packed_format::Entry;
using packed_format::Head;

PackedNames::PackedNames(const std::filesystem::path& source) : folder_(source.string()) {
  if (!folder_.empty() && !folder_.ends_with('/')) folder_ += '/';
}

std::string PackedNames::of(const ImageSource& images, SampleId id) const {
  std::string name = images.name_of(id);
  return !folder_.empty() && name.starts_with(folder_) ? name.substr(folder_.size()) : name;
}

PackTables::PackTables(const Dataset& dataset, const PackedNames& names, const PartialPack& partial)
    : dataset_(dataset), partial_(partial), class_counts_(dataset.class_names.size()) {
  const auto train_count = static_cast<std::size_t>(dataset.train.size());
  std::uint64_t offset = sizeof(Head);
  for (std::size_t i = 0; i < partial.records().size(); ++i) {
    const PartialPack::Record& record = partial.records()[i];
    if (record.height == 0) continue;
    const bool in_train = i < train_count;
    const Split& split = in_train ? dataset.train : dataset.test;
    const std::size_t id = in_train ? i : i - train_count;
    names_ += names.of(*split.images, static_cast<SampleId>(id));
    Entry entry{offset, record.checksum, names_.size(), record.height, record.width};
    entry.label = split.labels[id];
    if (!split.groups.empty()) entry.group = split.groups[id];
    index_.append(reinterpret_cast<const char*>(&entry), sizeof entry);
    offset +=
        std::uint64_t{record.height} * record.width * static_cast<std::uint64_t>(dataset.channels);
    ++(in_train ? train_count_ : test_count_);
    if (in_train) ++class_counts_[static_cast<std::size_t>(entry.label)];
  }
  check_classes();
}

std::pair<Head, std::string> PackTables::finish(const PackRecipe& recipe,
                                                std::uint64_t plan) const {
  const std::string description =
      packed_format::encode({dataset_.name, dataset_.channels, dataset_.class_names,
                             dataset_.group_names, remarks(), dataset_.normalization, recipe});
  std::string tables = index_ + names_ + description;
  Head head;
  head.file_bytes = partial_.bytes() + tables.size();
  head.train_count = static_cast<std::uint64_t>(train_count_);
  head.test_count = static_cast<std::uint64_t>(test_count_);
  head.index_offset = partial_.bytes();
  head.name_bytes = names_.size();
  head.description_bytes = description.size();
  head.plan = plan;
  head.tables_checksum = packed_format::checksum_of(tables.data(), tables.size());
  head.head_checksum = checksum_of(head);
  return {head, std::move(tables)};
}

/// A class that has lost its images cannot be learnt, and nothing can be tested without test
/// images.
void PackTables::check_classes() const {
  for (const ClassId label : dataset_.train.labels) {
    if (class_counts_[static_cast<std::size_t>(label)] > 0) continue;
    throw BadFile(fmt::format(
        "pack_images: no training image of class {} can be decoded; the first bad image of all: {}",
        dataset_.class_names[static_cast<std::size_t>(label)], partial_.reasons().begin()->second));
  }
  if (test_count_ == 0 && dataset_.test.size() > 0) {
    throw BadFile("pack_images: no test image can be decoded");
  }
}

std::vector<std::string> PackTables::remarks() const {
  constexpr std::size_t MostImagesNamed = 3;
  std::vector<std::string> remarks = dataset_.remarks;
  const auto& reasons = partial_.reasons();
  if (reasons.empty()) return remarks;
  std::vector<std::string> texts;
  for (const auto& [image, reason] : reasons) texts.push_back(reason);
  remarks.push_back(fmt::format("{} of {} images cannot be decoded and are left out: {}",
                                reasons.size(), partial_.records().size(),
                                first_few(texts, MostImagesNamed, " | ")));
  return remarks;
}

}  // namespace rcap
