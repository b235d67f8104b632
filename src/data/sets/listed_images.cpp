#include "data/sets/listed_images.hpp"

#include <utility>

#include "io/refuse_file.hpp"

namespace rcap {
namespace {

FileList check_images(FileList list, const std::string& source, const std::string& remedy,
                      bool skip_bad, const Workers& workers, Dataset& dataset) {
  if (!skip_bad) {
    check_no_file_is_missing(list, workers, source, remedy);
    return list;
  }
  list = without_missing_files(std::move(list), workers, source, dataset.remarks);
  return without_bad_images(std::move(list), workers, dataset.class_names, dataset.remarks);
}

}  // namespace

void open_listed_images(ListedImages listed, const ImageFileOptions& options, Dataset& dataset) {
  const Workers workers(options.threads);
  const auto check = [&](FileList& list, const std::string& source) {
    return check_images(std::move(list), source, listed.remedy, options.skip_bad, workers, dataset);
  };
  FileList train = check(listed.train, listed.train_source);
  FileList test = check(listed.test, listed.test_source);
  check_every_class_has_images(train, dataset.class_names, listed.train_source);
  if (test.files.empty()) {
    refuse_file(listed.test_source, "names no test image; there is nothing to evaluate with");
  }
  dataset.train = make_split(std::move(train), options.least_side);
  dataset.test = make_split(std::move(test), options.least_side);
}

}  // namespace rcap
