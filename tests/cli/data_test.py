"""`rcap data` and the reading of data sets, from files made on the spot."""

import gzip
import json
import os
import unittest
import zlib

from cli_case import CliTest


class Data(CliTest):
    """Without any data set on the machine: the files are made here."""

    def verify(self, *words):
        """The exit code, the report and the line on stderr."""
        result = self.run_rcap("data", "verify", *words)
        self.assertRegex(result.stderr, r"\A(rcap: [^\n]+\n)?\Z")
        return result.returncode, result.stdout, result.stderr

    def put_image(self, name):
        """A PNG of one black pixel."""
        def chunk(kind, data):
            return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")

        header = (1).to_bytes(4, "big") * 2 + bytes([8, 0, 0, 0, 0])
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) +
                         chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b""))

    def test_list_tells_every_data_set(self):
        names = ["fashion-mnist", "mnist", "cifar10", "cifar100", "imagenet", "waterbirds", "celeba", "inaturalist",
                 "image-folder", "table", "synthetic"]
        text = self.rcap("data", "list")
        told = json.loads(self.rcap("data", "list", "--json"))["datasets"]
        self.assertEqual([entry["name"] for entry in told], names)
        for entry in told:
            self.assertIn(f"{entry['name']:<14} {entry['summary']}", text)
        self.assertIn("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz", text)
        self.assertTrue(told[-1]["found"])
        self.assertEqual(told[4]["archives"][0]["md5"], "1d675b47d978889d74fa0da5fadfb00e")
        self.assertIn("https://nlp.stanford.edu/data/dro/waterbird_complete95_forest2water2.tar.gz", text)

    def test_verify_names_damaged_and_missing_files_and_where_to_get_them(self):
        (self.folder / "train-labels-idx1-ubyte").write_bytes(b"x" * 100)
        with gzip.open(self.folder / "t10k-labels-idx1-ubyte.gz", "wb") as file:
            file.write(b"x" * 10008)
        code, report, error = self.verify("mnist", "--data", ".")
        self.assertEqual(code, 2)
        self.assertIn("damaged   train-labels-idx1-ubyte: holds 100 bytes; 60008 are expected", report)
        self.assertIn("damaged   t10k-labels-idx1-ubyte.gz: has SHA-256", report)
        self.assertIn("missing   t10k-images-idx3-ubyte, 7840016 bytes, SHA-256 0fa7898d", report)
        self.assertIn("official address: https://", report)
        self.assertIn("of the 4 files of mnist in ., 2 are damaged and 2 missing; put the four", error)
        code, report, _ = self.verify("mnist", "--data", ".", "--json")
        told = json.loads(report)["datasets"][0]
        self.assertEqual((code, told["state"]), (2, "damaged"))
        self.assertEqual([file["state"] for file in told["files"]], ["missing", "damaged", "missing", "damaged"])
        self.assertEqual(told["files"][1]["bytes"], 100)

    def test_verify_of_a_data_set_that_is_not_there_tells_its_archive(self):
        code, report, error = self.verify("cifar10", "--data", "nowhere")
        self.assertEqual(code, 2)
        self.assertIn("cifar10 in nowhere: missing", report)
        self.assertIn("170052171 bytes, SHA-256 c4a38c50a1bc5f3a1c5537f2155ab9d6", report)
        self.assertIn("6 missing; unpack https://", error)

    def test_verify_only_doubts_the_checksums_of_a_third_party(self):
        os.mkdir(self.folder / "cifar-100-binary")
        for name, size in [("train.bin", 153_700_000), ("test.bin", 30_740_000)]:
            with open(self.folder / "cifar-100-binary" / name, "wb") as file:
                file.truncate(size)
        code, report, error = self.verify("cifar100", "--data", ".")
        self.assertEqual((code, error), (0, ""))
        self.assertIn("cifar100 in .: doubtful", report)
        self.assertRegex(report, r"doubtful  test.bin: has MD5 \w{32}; 4499cfba6c016c1be1438163640a0898 is expected")

    def test_verify_decodes_the_images_of_a_folder(self):
        for name in ["train/a/1.png", "train/a/2.png", "train/b/1.png", "val/a/1.png"]:
            self.put_image(name)
        self.assertEqual(self.verify("image-folder", "--data", ".", "--quiet"), (0, "", ""))
        self.assertIn("4 images, 0 of them cannot be decoded", self.verify("image-folder", "--data", ".")[1])
        (self.folder / "train/b/2.jpg").write_bytes(b"")
        (self.folder / "val/a/2.jpg").write_bytes(b"\xff\xd8\xff\xe0")
        code, report, error = self.verify("image-folder", "--data", ".", "--quiet")
        self.assertEqual(code, 2)
        self.assertIn("damaged   ./train/b/2.jpg: is empty", report)
        self.assertIn("damaged   ./val/a/2.jpg: the JPEG data are truncated", report)
        self.assertIn("2 of 6 images in . cannot be decoded", error)
        told = json.loads(self.verify("image-folder", "--data", ".", "--json")[1])["datasets"][0]
        self.assertEqual((told["images"], len(told["bad_images"])), (6, 2))

    def test_verify_opens_a_data_set_of_image_files(self):
        (self.folder / "metadata.csv").write_text("img_id,img_filename,y,split,place,place_filename\n" + "".join(
            f"{i},{i}.png,{i % 2},{i // 3 * 2},0,p\n" for i in range(1, 5)))
        for i in range(1, 5):
            self.put_image(f"{i}.png")
        code, report, _ = self.verify("waterbirds", "--data", ".")
        self.assertEqual(code, 0)
        self.assertIn("a subset: 2 of 4,795 training images", report)
        self.assertIn("4 images, not decoded; --decode reads each of them", report)
        self.assertEqual(self.verify("waterbirds", "--data", ".", "--decode", "--quiet"), (0, "", ""))
        (self.folder / "3.png").write_bytes(b"bad")
        code, report, error = self.verify("waterbirds", "--data", ".", "--decode")
        self.assertEqual(code, 2)
        self.assertIn("damaged   ./3.png: is neither", report)
        self.assertIn("1 of 4 images in . cannot be decoded", error)
        os.remove(self.folder / "2.png")
        code, report, error = self.verify("waterbirds", "--data", ".")
        self.assertEqual(code, 2)
        self.assertIn("damaged   1 of the 2 images that ./metadata.csv names are not in .: 2.png", report)
        self.assertIn("archive: https://nlp.stanford.edu/data/dro/", report)
        self.assertIn("data verify: waterbirds in .: 1 of the 2 images", error)

    def test_verify_checks_the_lists_of_celeba(self):
        (self.folder / "list_attr_celeba.txt").write_text("1\nBlond_Hair Male\n1.jpg 1 1\n")
        code, report, error = self.verify("celeba", "--data", ".")
        self.assertEqual(code, 2)
        self.assertIn("damaged   list_attr_celeba.txt: holds 28 bytes; 26721026 are expected", report)
        self.assertIn("missing   list_eval_partition.txt, 2836386 bytes, SHA-256 fc955bcb3ef8fbdf7d5640", report)
        self.assertIn("1 are damaged and 1 missing; put list_attr_celeba.txt", error)
        code, report, _ = self.verify("imagenet", "--data", "nowhere", "--json")
        told = json.loads(report)["datasets"][0]
        self.assertEqual((code, told["state"], told["problem"]), (2, "missing", "there is no such folder"))
        self.assertEqual(told["archives"][2]["bytes"], None)

    def test_verify_without_a_name_takes_what_has_a_usual_place(self):
        code, report, _ = self.verify("--json")
        told = json.loads(report)["datasets"]
        self.assertEqual([entry["name"] for entry in told], ["fashion-mnist"])
        self.assertEqual(code, 2 if told[0]["state"] == "damaged" else 0)

    def test_refuses_what_it_does_not_know(self):
        self.assert_refused("data", naming=["data \"\"", "rcap data list"])
        self.assert_refused("data", "verfy", naming='data "verfy" does not exist')
        self.assert_refused("data", "verify", "cifar1", naming=['"cifar1"', "did you mean cifar10?"])
        self.assert_refused("data", "verify", "cifar10", naming=["--data DIR", "unpack https://"])
        self.assert_refused("data", "verify", "image-folder", naming="--data DIR")
        self.assert_refused("data", "verify", "image-folder", "--data", "nowhere", naming="nowhere")
        self.assert_refused("data", "verify", "synthetic", naming="synthetic is generated")
        self.assert_refused("data", "verify", "table", "--data", ".", naming="your own table has no published")
        self.assert_refused("data", "pack", "--dataset", "table", "--data", ".", "--out", "x",
                            naming="data pack: a table holds numbers, not images")
        self.assert_refused("bench", "data", "--dataset", "table", "--data", ".",
                            naming="bench data: a table holds numbers, not images")
        self.assert_refused("data", "verify", "--data", ".", naming="--data . without a NAME")
        self.assert_refused("data", "list", "--jsn", naming="did you mean --json?")
        for words in [["data", "--help"], ["data", "list", "--help"], ["data", "verify", "--help"]]:
            self.assertIn("Usage: rcap data", self.rcap(*words))


if __name__ == "__main__":
    unittest.main()
