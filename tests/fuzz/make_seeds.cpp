// make_seeds FOLDER: writes the first inputs of every fuzz target, sound files of each kind, to
// FOLDER/TARGET/.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "data/images/memory_images.hpp"
#include "data/packs/pack_images.hpp"
#include "data/sample_files.hpp"
#include "data/sets/mat_samples.hpp"
#include "io/npy.hpp"
#include "io/pth/pth_samples.hpp"
#include "io/safetensors.hpp"
#include "rcap/core/filter.hpp"
#include "rcap/core/state_file.hpp"

namespace rcap {
namespace {

namespace fs = std::filesystem;

/// The byte by which a target chooses a reader, then the file.
std::string behind(char choice, const std::string& file) { return choice + file; }

void make_idx(const fs::path& folder) {
  const Bytes images = idx(0x803, {2, 2, 3}, counting_bytes(12));
  const Bytes labels = idx(0x801, {3}, {0, 1, 2});
  put_file(folder / "images", images);
  put_file(folder / "images.gz", gzip(images));
  put_file(folder / "labels", labels);
  put_file(folder / "labels.gz", gzip(labels));
}

/// @param class_count  as many class names of one letter go before the records
Bytes cifar_input(std::uint8_t choice, int class_count, const Bytes& records) {
  Bytes input{choice, static_cast<std::uint8_t>(2 * class_count)};
  for (int i = 0; i < class_count; ++i) input.insert(input.end(), {'a', '\n'});
  input.insert(input.end(), records.begin(), records.end());
  return input;
}

void make_cifar(const fs::path& folder) {
  put_file(folder / "cifar10", cifar_input(0, 10, cifar_records(1, 1, 10)));
  put_file(folder / "cifar100", cifar_input(1, 100, cifar_records(1, 2, 100)));
}

void make_lists(const fs::path& folder) {
  put_file(folder / "waterbirds", behind('\0',
                                         "img_id,img_filename,y,split,place,place_filename\n"
                                         "1,001.Albatross/a.jpg,1,0,1,/o/ocean/1.jpg\n"
                                         "2,\"002.Wren/b, c.jpg\",0,2,0,/b/bamboo/2.jpg\n"));
  put_file(folder / "attributes",
           behind('\1', "2\nBald Blond_Hair Male\n000001.jpg  1 -1  1\n000002.jpg -1 1 -1\n"));
  put_file(folder / "attributes.csv",
           behind('\1', "image_id,Blond_Hair,Male\r\n000001.jpg,1,-1\r\n000002.jpg,-1,1\r\n"));
  put_file(folder / "partition", behind('\2', "000001.jpg 0\n000002.jpg 2\n"));
  put_file(folder / "partition.csv", behind('\2', "image_id,partition\n000001.jpg,0\n"));
  put_file(folder / "ground_truth", behind('\3', "490\n361\n1\n1000\n"));
}

void make_inaturalist(const fs::path& folder) {
  put_file(folder / "list.json", R"({"info":{"year":2017,"x":[[null,true,1.5e3]]},
    "images":[{"id":1,"file_name":"train_val_images/Aves/Wren/a.jpg","width":800,"height":600},
              {"id":2,"file_name":"train_val_images/Fungi/Morel/b.jpg"}],
    "categories":[{"id":0,"name":"Wren","supercategory":"Aves"},
                  {"id":7,"name":"Morel","supercategory":"Fungi"}],
    "annotations":[{"id":1,"image_id":1,"category_id":0},{"image_id":2,"category_id":7}]})");
}

void make_synsets(const fs::path& folder) {
  MatSample sample;
  sample.rows = {{1, "n02119789"}, {2, "n02100735"}};
  put_file(folder / "packed.mat", sample.bytes());
  sample.packed = false;
  put_file(folder / "plain.mat", sample.bytes());
}

void make_weights(const fs::path& safetensors, const fs::path& pth, const fs::path& pickle) {
  const std::vector<float> numbers = {1, 2, 3, 4};
  const std::vector<TensorView> tensors = {
      {"weight", TensorType::F32, {2, 2}, std::as_bytes(std::span(numbers))},
      {"flag", TensorType::Bool, {0}, {}}};
  fs::create_directories(safetensors);
  write_safetensors(safetensors / "small.safetensors", tensors, {{"format", "pt"}});

  put_file(pth / "zip", pth_samples::small_archive());
  put_file(pth / "zip64", pth_samples::small_archive(true));
  put_file(pth / "old", pth_samples::small_old_file());

  using namespace pth_samples;
  const std::string floats = storage("0", "Float", 6);
  const std::string weight = tensor(floats, 1, {2, 2}, {1, 2});
  const std::string parameter =
      global("torch._utils", "_rebuild_parameter") + tuple({weight, "\x88", "N"}) + "R";
  put_file(pickle / "state_dict", pickle_of(ordered({{"weight", weight}, {"bias", parameter}})));
  put_file(pickle / "checkpoint",
           pickle_of(dictionary({{"epoch", integer(3)},
                                 {"rate", std::string("G\0\0\0\0\0\0\0\0", 9)},
                                 {"model", "}q\1(" + text("w") + weight + "q\2u"},
                                 {"list", "](h\1NK\7e"}})));
}

void make_npy(const fs::path& folder) {
  fs::create_directories(folder);
  const std::vector<std::int64_t> integers = {0, 1, 2};
  const std::vector<float> reals = {0.5F, 1.5F};
  StagedFile labels(folder / "integers.npy");
  write_npy(labels, integers);
  labels.publish();
  StagedFile losses(folder / "reals.npy");
  write_npy(losses, reals);
  losses.publish();
}

void make_table(const fs::path& folder) {
  put_file(folder / "numbers.csv", "x,y,label\n1,2.5,0\n-1e3,.5,1\n3,+4,0\n7,8,1\n");
  put_file(folder / "categories.csv",
           "colour,\"size, in cm\",label\r\nred,1,a\r\n\"light\r\nblue\",2,b\r\nred,3,a\r\n"
           "\"say \"\"red\"\"\",4,b\r\n");
  put_file(folder / "missing.csv", "x,label\n?,a\nNA,b\n,c\ninf,d\n");
}

void make_packed(const fs::path& folder) {
  fs::create_directories(folder);
  const auto split = [] {
    return Split{std::make_shared<MemoryImages>(ImageShape{2, 3, 3}, counting_bytes(36),
                                                std::vector<MemoryImages::Part>{{"x.bin", 2}}),
                 {0, 1},
                 {1, 0}};
  };
  Dataset dataset;
  dataset.name = "waterbirds";
  dataset.class_names = {"land", "water"};
  dataset.group_names = {"a", "b"};
  dataset.normalization = {{0.5F, 0.5F, 0.5F}, {0.25F, 0.25F, 0.25F}};
  dataset.train = split();
  dataset.test = split();
  dataset.remarks = {"small"};
  (void)pack_images(dataset, {}, folder / "small.rcap", {});
}

void make_state(const fs::path& folder) {
  fs::create_directories(folder);
  std::int64_t epoch = 4;
  std::vector<float> losses = {0.5F, 0.0F, 2.0F};
  SampleSet samples(70);
  samples.insert(69);
  std::vector<double> weights = {7.5, 0.0};
  write_state_file(folder / "small.rcap", {"rcap", 70, 3, 12345, {"beta=0.5", "rate=0.3"}},
                   [&](StateFields& fields) {
                     fields.number("epoch", epoch);
                     fields.losses("losses", losses);
                     fields.samples("samples", samples);
                     fields.weights("weights", weights);
                   });
}

void make_filters(const fs::path& folder) {
  fs::create_directories(folder);
  const std::vector<SampleId> ids = {3, 64, 69};
  Filter(4, 70, ids, {}).save(folder / "plain");
  Filter(4, 70, ids, std::vector<float>{0.5F, 1.0F, 2.0F}).save(folder / "weighted");
}

void make_images(const fs::path& folder) {
  put_file(folder / "color.jpg", encode_jpeg(counting_image(16, 24, 3)));
  put_file(folder / "grey.jpg", encode_jpeg(counting_image(9, 7, 1)));
  put_file(folder / "color.png", encode_png(counting_image(5, 4, 3)));
  put_file(folder / "grey.png", encode_png(counting_image(4, 5, 1)));
}

void make_plans(const fs::path& folder) {
  put_file(
      folder / "small.toml",
      "title = \"t\"\nseeds = [0, 27]\npruning-rates = [0.5]\nbetas = [1]\nreference = \"rcap\"\n"
      "methods = [\"full\", {name = \"a\", method = \"rcap\", class-share = \"mass\"}, \"ccs\"]\n"
      "[options]\nepochs = 2\nhold-out = 0.2\nevaluate = \"held-out\"\n"
      "[[datasets]]\nname = \"x\"\ndataset = \"mnist\"\nimbalance = 10\n");
  put_file(folder / "table.toml",
           "seeds = [1]\npruning-rates = [0.9]\nmethods = [\"rs2\"]\n"
           "datasets = [{preset = \"table\", data = \"a \\\"b\\\" #c\", label-column = \"é\"}]\n");
}

/// Bytes that stand for anything; the target makes options of them.
void make_options(const fs::path& folder) {
  put_file(folder / "some", "\x03\x01\x02rcap\x05mass 0.5 \x01\x02\x03\x04\x05\x06\x07");
}

void make_all(const fs::path& folder) {
  make_plans(folder / "plan");
  make_options(folder / "options");
  make_idx(folder / "idx");
  make_cifar(folder / "cifar");
  make_lists(folder / "lists");
  make_inaturalist(folder / "inaturalist");
  make_synsets(folder / "synsets");
  make_weights(folder / "safetensors", folder / "pth", folder / "pickle");
  make_npy(folder / "npy");
  make_table(folder / "table");
  make_packed(folder / "packed");
  make_state(folder / "state");
  make_filters(folder / "filter");
  make_images(folder / "images");
}

}  // namespace
}  // namespace rcap

int main(int argument_count, char** arguments) {
  if (argument_count != 2) return 2;
  try {
    // A seed that is no longer made must not stay.
    std::filesystem::remove_all(arguments[1]);
    rcap::make_all(arguments[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_seeds: %s\n", error.what());
    return 1;
  }
  return 0;
}
