// CIFAR-10 and CIFAR-100 in their binary form. The first byte chooses, the second one tells how
// many bytes the file of class names has; the rest stands for every file of records.
#include <algorithm>

#include "data/sets/cifar_reader.hpp"
#include "fuzz/fuzz_input.hpp"
#include "temporary_folder.hpp"

using namespace rcap;

namespace {

/// A folder with all files of both data sets, which are two files in memory.
class CifarFolder {
 public:
  CifarFolder() {
    for (const char* name :
         {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
          "data_batch_5.bin", "test_batch.bin", "train.bin", "test.bin"}) {
      std::filesystem::create_symlink(records_.path(), folder_ / name);
    }
    for (const char* name : {"batches.meta.txt", "fine_label_names.txt"}) {
      std::filesystem::create_symlink(names_.path(), folder_ / name);
    }
  }

  const std::filesystem::path& put(fuzz::Input names, fuzz::Input records) {
    names_.put(names);
    records_.put(records);
    return folder_.path();
  }

 private:
  TemporaryFolder folder_;
  MemoryFile names_;
  MemoryFile records_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static CifarFolder folder;
  if (size < 2) return 0;
  const fuzz::Input rest(data + 2, size - 2);
  const std::size_t name_bytes = std::min<std::size_t>(data[1], rest.size());
  const auto path = folder.put(rest.first(name_bytes), rest.subspan(name_bytes));
  fuzz::read_or_refuse(
      [&] { (void)read_cifar(path, data[0] % 2 == 0 ? CifarKind::Cifar10 : CifarKind::Cifar100); });
  return 0;
}
