"""`rcap select`: arrays made by NumPy, exit codes, one-line errors."""

import json
import os
import resource
import shutil
import subprocess
import unittest

import numpy as np

from cli_case import CLASS_COUNT, PROGRAM, SAMPLE_COUNT, CliTest, methods

INTEGER_TYPES = ["<i1", "<i2", "<i4", "<i8", "<u1", "<u2", "<u4", "<u8"]
METHODS = methods()


class Arrays(CliTest):
    def test_labels_and_ids_of_every_integer_type_select_the_same(self):
        self.put("all.npy", np.arange(SAMPLE_COUNT))
        expected = self.select("--losses", "initial.npy")
        for kind in INTEGER_TYPES:
            self.put("labels.npy", self.labels.astype(kind))
            count = min(SAMPLE_COUNT, 100 if kind[2] == "1" else SAMPLE_COUNT)
            self.put("all.npy", np.arange(count).astype(kind))
            words = ["--ids", "all.npy"] if count == SAMPLE_COUNT else []
            np.testing.assert_array_equal(self.select("--losses", "initial.npy", *words), expected)

    def test_losses_of_both_real_types_select_the_same(self):
        expected = self.select("--losses", "initial.npy")
        self.put("initial.npy", self.initial.astype("<f8"))
        np.testing.assert_array_equal(self.select("--losses", "initial.npy"), expected)

    def test_other_versions_of_the_format_are_read(self):
        expected = self.select("--losses", "initial.npy")
        for version in [(1, 0), (2, 0), (3, 0)]:
            with open(self.folder / "labels.npy", "wb") as file:
                np.lib.format.write_array(file, self.labels, version=version)
            np.testing.assert_array_equal(self.select("--losses", "initial.npy"), expected)

    def test_output_is_what_numpy_writes(self):
        ids = self.select("--losses", "initial.npy")
        self.assertEqual(ids.dtype, np.int64)
        written = (self.folder / "ids.npy").read_bytes()
        self.put("ids.npy", ids)
        self.assertEqual(written, (self.folder / "ids.npy").read_bytes())


class Lengths(CliTest):
    def test_budgets_are_in_tokens(self):
        lengths = np.random.default_rng(3).integers(1, 50, SAMPLE_COUNT)
        self.put("lengths.npy", lengths)
        words = ["--method", "rs2", "--labels", "labels.npy", "--lengths", "lengths.npy", "--out", "ids.npy",
                 "--pruning-rate", 0.8]
        told = json.loads(self.rcap("select", *words, "--json"))
        selected = lengths[np.load(self.folder / "ids.npy")].sum()
        self.assertEqual(told["tokens"], lengths.sum())
        self.assertEqual(told["keep_tokens"], int(0.2 * lengths.sum() + 1e-6))
        self.assertEqual(told["selected_tokens"], selected)
        self.assertLessEqual(abs(selected - told["keep_tokens"]), 50)
        self.assertIn(f"{selected} of {lengths.sum()} tokens, for a budget of", self.rcap("select", *words))

    def test_lengths_of_another_count_are_refused(self):
        self.put("lengths.npy", np.ones(SAMPLE_COUNT - 1, int))
        self.assert_refused("select", "--method", "rs2", "--labels", "labels.npy", "--lengths", "lengths.npy", "--out",
                            "ids.npy", naming=f"{SAMPLE_COUNT - 1} for {SAMPLE_COUNT} samples")

    def test_windows_take_unseen_samples_first(self):
        words = ["--method", "balanced", "--labels", "labels.npy", "--out", "ids.npy", "--state", "s.rcap",
                 "--max-repeats", 0, "--window", 40]
        seen = []
        for _ in range(SAMPLE_COUNT // 40):
            self.rcap("select", *words)
            seen += np.load(self.folder / "ids.npy").tolist()
        self.assertEqual(len(seen), len(set(seen)))
        self.assertEqual(len(seen), SAMPLE_COUNT // 40 * 40)


class Selecting(CliTest):
    def method_options(self, method):
        by_sample = ["--scores", "scores.npy"]
        needed = {"recalls": ["--recalls", "recalls.npy"], "none": [],
                  "dual": ["--scores", "initial.npy", "--mean-probabilities", "probabilities.npy"]}.get(
                      METHODS[method]["needs_scores"], by_sample)
        needs_epochs = method in ("infobatch", "seta", "kakurenbo", "dropout")
        return needed + (["--epochs", 10] if needs_epochs else [])

    def initial_options(self, method):
        return ["--losses", "initial.npy"] if METHODS[method]["first_pass"] == "forward" else []

    def test_every_class_share_selects_and_resumes(self):
        needed = {"progressive": ["--epochs", 4], "deferred": ["--epochs", 4, "--defer-until", 0.25],
                  "domain": ["--reference-losses", ",".join(["0.5"] * CLASS_COUNT)]}
        for method in ["rcap", "balanced"]:
            for share in ["power", "progressive", "effective-number", "deferred", "group-dro", "domain", "bandit"]:
                with self.subTest(method=method, share=share):
                    words = ["--method", method, "--class-share", share, "--state", f"{method}-{share}.rcap",
                             *needed.get(share, [])]
                    first = self.select(*words, "--epoch", 0)
                    self.put("losses.npy", np.linspace(0, 3, len(first)))
                    second = self.select(*words, "--epoch", 1, "--ids", "ids.npy", "--losses", "losses.npy")
                    self.assertEqual(len(second), len(first))
                    self.assertEqual(len(np.unique(second)), len(second))

    def test_every_method_selects(self):
        for method in METHODS:
            with self.subTest(method=method):
                words = ["--method", method, *self.method_options(method), *self.initial_options(method)]
                told = json.loads(self.rcap("select", "--labels", "labels.npy", "--out", "ids.npy", "--json", *words))
                ids = self.get("ids.npy")
                self.assertEqual(len(set(ids)), len(ids))
                told_of = METHODS[method]
                whole = (told_of["keeps_all"] or told_of["budget"] != "every-epoch"
                         or told_of["first_pass"] == "training")
                self.assertEqual(len(ids), SAMPLE_COUNT if whole else 30)
                self.assertEqual(told["class_counts"],
                                 np.bincount(self.labels[ids], minlength=CLASS_COUNT).tolist())
                self.assertEqual((told["method"], told["epoch"], told["seed"], told["n"], told["classes"],
                                  told["selected"]), (method, 0, 0, SAMPLE_COUNT, CLASS_COUNT, len(ids)))
                self.assertGreaterEqual(told["seconds"], 0)

    def test_every_method_goes_on_from_its_state(self):
        for method in METHODS:
            with self.subTest(method=method):
                words = ["--method", method, "--state", f"{method}.rcap", "--seed", 3]
                words += self.method_options(method)
                ids = self.select(*words, *self.initial_options(method))
                for epoch in range(1, 5):
                    self.put("losses.npy", np.linspace(0, 2, len(ids), dtype=np.float32) + 0.1 * epoch)
                    told = json.loads(self.rcap("select", "--labels", "labels.npy", *words, "--losses", "losses.npy",
                                                "--ids", "ids.npy", "--out", "ids.npy", "--json"))
                    self.assertEqual(told["epoch"], epoch)
                    ids = self.get("ids.npy")
                    self.assertEqual(told["selected"], len(ids))

    def test_left_out_samples_are_refreshed_from_a_whole_array_or_by_their_ids(self):
        words = ["--method", "kakurenbo", "--epochs", 10, "--hidden", 0.5]
        losses = np.linspace(0, 1, SAMPLE_COUNT, dtype=np.float32)
        results = []
        for by_ids in (False, True):
            state = ["--state", f"{by_ids}.rcap"]
            self.select(*words, *state)
            self.put("losses.npy", losses)
            said = self.rcap("select", "--labels", "labels.npy", "--out", "ids.npy", *words, *state,
                             "--losses", "losses.npy")
            self.assertIn("kakurenbo asks for the losses of the 107 samples that it left out", said)  # up to 0.3567
            self.assertIn("multiply the learning rate of this epoch by 2", said)
            self.put("losses.npy", losses[::-1].copy())
            if by_ids:
                self.put("all.npy", np.arange(SAMPLE_COUNT))
            results.append(self.select(*words, *state, "--losses", "losses.npy",
                                       *(["--ids", "all.npy"] if by_ids else [])))
        # The easy ones are now the last.
        np.testing.assert_array_equal(np.sort(results[0]), np.arange(SAMPLE_COUNT - 107))
        np.testing.assert_array_equal(results[0], results[1])

    def test_a_call_with_ids_equals_a_call_with_the_whole_array(self):
        start = ["--losses", "initial.npy", "--state", "s.rcap"]
        first = self.select(*start)
        shutil.copy(self.folder / "s.rcap", self.folder / "t.rcap")
        whole = np.full(SAMPLE_COUNT, np.nan, dtype=np.float32)  # entries that were not trained do not count
        whole[first] = np.linspace(0, 1, len(first))
        self.put("whole.npy", whole)
        self.put("part.npy", whole[first])
        self.put("first.npy", first)
        by_ids = self.select("--losses", "part.npy", "--ids", "first.npy", "--state", "s.rcap")
        by_array = self.select("--losses", "whole.npy", "--state", "t.rcap")
        np.testing.assert_array_equal(by_ids, by_array)
        self.assertFalse(np.array_equal(by_ids, first))
        self.assertEqual((self.folder / "s.rcap").read_bytes(), (self.folder / "t.rcap").read_bytes())

    def test_an_epoch_repeats_without_losses(self):
        first = self.select("--losses", "initial.npy", "--state", "s.rcap")
        state = (self.folder / "s.rcap").read_bytes()
        np.testing.assert_array_equal(self.select("--state", "s.rcap", "--epoch", 0), first)
        self.assertEqual((self.folder / "s.rcap").read_bytes(), state)

    def test_a_lost_state_write_is_mended_by_the_same_command(self):
        first = self.select("--losses", "initial.npy", "--state", "s.rcap", out="first.npy")
        self.put("losses.npy", np.linspace(0, 1, len(first)))
        old_state = (self.folder / "s.rcap").read_bytes()
        words = ["--losses", "losses.npy", "--ids", "first.npy", "--state", "s.rcap"]
        second = self.select(*words)
        new_state = (self.folder / "s.rcap").read_bytes()
        (self.folder / "s.rcap").write_bytes(old_state)  # as after a crash between ids and state
        np.testing.assert_array_equal(self.select(*words), second)
        self.assertEqual((self.folder / "s.rcap").read_bytes(), new_state)

    def test_a_call_cut_short_between_its_files_is_finished_by_the_same_command(self):
        words = ("--state", "s.rcap", "--weights", "w.npy", "--filter", "e.filter")
        for method in (words, (*words, "--pruning-rate", 0), ("--state", "s.rcap", "--method", "ucb")):
            with self.subTest(words=method):
                for name in ("s.rcap", "ids.npy", "w.npy", "e.filter"):
                    (self.folder / name).unlink(missing_ok=True)
                first = self.select(*method)
                self.put("losses.npy", np.linspace(0, 1, len(first)))
                before = self.contents()
                again = (*method, "--losses", "losses.npy", "--ids", "ids.npy")
                second = self.select(*again)
                after = self.contents()
                self.assertNotEqual(before["ids.npy"], after["ids.npy"])
                # All that a kill can leave: the state is first, then ids, then weights, then the filter.
                written = ("s.rcap", "ids.npy", "w.npy", "e.filter")
                for lost in (written[count:] for count in range(5)):
                    for name in after:
                        (self.folder / name).write_bytes(before[name] if name in lost else after[name])
                    os.utime(self.folder / "losses.npy")
                    (self.folder / "s.rcap.unfinished").write_text("1\n")
                    np.testing.assert_array_equal(self.select(*again), second)
                    self.assertEqual(self.contents(), after)

    def test_losses_older_than_the_ids_of_the_last_call_are_refused(self):
        first = self.select("--losses", "initial.npy", "--state", "s.rcap")
        self.put("losses.npy", np.linspace(0, 1, len(first)))
        again = ("--state", "s.rcap", "--losses", "losses.npy", "--ids", "ids.npy", "--pruning-rate", 0.9)
        self.select(*again)
        self.refuse_select(*again, naming=["losses.npy is older than ids.npy", "train on them first"])
        os.utime(self.folder / "losses.npy")
        told = self.refuse_select(*again, "--epoch", 1, naming="--epoch 1 with --losses")
        self.assertIn("leave out --losses to repeat the selection", told)

    def test_more_classes_than_the_rate_keeps_are_told(self):
        self.put("labels.npy", np.arange(400) % 100)
        told = self.rcap("select", "--labels", "labels.npy", "--method", "rs2", "--out", "ids.npy")
        self.assertIn("would keep 40 of 400 samples, fewer than there are classes: 100 are kept", told)
        self.put("labels.npy", np.arange(400) % 4 * 1000)
        told = self.rcap("select", "--labels", "labels.npy", "--method", "rs2", "--out", "ids.npy")
        self.assertIn("selected 40 of 400 samples", told)
        self.assertNotIn("note:", told)

    def test_epochs_may_be_left_out_but_not_gone_back_to(self):
        self.select("--losses", "initial.npy", "--state", "s.rcap")
        self.select("--state", "s.rcap", "--epoch", 5)
        self.refuse_select("--state", "s.rcap", "--epoch", 4, naming=["--epoch 4", "epoch 5", "s.rcap"])
        told = self.refuse_select("--state", "s.rcap", "--epoch", 5, naming=["--epoch 5", "--epoch 6"])
        self.assertIn("leave out --losses", told)

    def test_threads_do_not_change_the_ids(self):
        selections = [self.select("--losses", "initial.npy", "--threads", threads) for threads in (1, 2, 7)]
        np.testing.assert_array_equal(selections[0], selections[1])
        np.testing.assert_array_equal(selections[0], selections[2])

    def test_order_changes_the_order_alone(self):
        training = self.select("--losses", "initial.npy")
        ascending = self.select("--losses", "initial.npy", "--order", "ascending")
        np.testing.assert_array_equal(np.sort(training), ascending)
        self.assertFalse(np.array_equal(training, ascending))

    def test_weights_of_the_robust_rule_average_one(self):
        robust = ["--class-share", "robust", "--unbias", 2]
        ids = self.select("--losses", "initial.npy", *robust, "--weights", "weights.npy")
        weights = self.get("weights.npy")
        self.assertEqual((len(weights), weights.dtype), (len(ids), np.float32))
        self.assertAlmostEqual(float(weights.mean()), 1, places=4)
        self.assertGreater(weights.max(), weights.min())
        told = self.run_rcap("select", "--labels", "labels.npy", "--losses", "initial.npy", *robust, "--out", "ids.npy")
        self.assertIn("--weights FILE writes them", told.stdout)

    def test_a_method_without_weights_is_not_asked_for_them(self):
        for words, method in [(["--method", "top-loss"], "top-loss"), (["--class-share", "group"], "rcap")]:
            self.refuse_select("--weights", "w.npy", *words, naming=["--weights w.npy", method, "robust"])
            self.assertFalse((self.folder / "w.npy").exists())

    def test_weights_lie_beside_their_ids(self):
        words = ["--method", "infobatch", "--epochs", 10, "--state", "s.rcap", "--weights", "weights.npy"]
        first = self.select(*words)
        losses = np.where(np.arange(SAMPLE_COUNT) < 200, 0.5, 4.0)  # mean 1.67: 200 samples below, half are kept
        self.put("losses.npy", losses[first])
        self.put("first.npy", first)
        second = self.select(*words, "--losses", "losses.npy", "--ids", "first.npy")
        self.assertEqual(len(second), 200)
        np.testing.assert_array_equal(self.get("weights.npy"), np.where(second < 200, 2.0, 1.0))

    def test_a_filter_is_the_selection_with_its_weights(self):
        words = ["--method", "infobatch", "--epochs", 10, "--state", "s.rcap", "--filter", "epoch.filter"]
        first = self.select(*words)
        self.put("losses.npy", np.where(np.arange(SAMPLE_COUNT) < 200, 0.5, 4.0)[first])
        self.put("first.npy", first)
        ids = self.select(*words, "--losses", "losses.npy", "--ids", "first.npy", "--order", "ascending")
        raw = np.fromfile(self.folder / "epoch.filter", np.uint8)  # as docs/select.md tells others to read it
        epoch, count, kept = raw[24:48].view("<i8")
        self.assertEqual((bytes(raw[:8]), epoch, count, kept), (b"RCAPFILT", 1, SAMPLE_COUNT, len(ids)))
        bits_end = 64 + 8 * -(-SAMPLE_COUNT // 64)
        bits = np.unpackbits(raw[64:bits_end], bitorder="little")
        np.testing.assert_array_equal(np.flatnonzero(bits), ids)
        weights_at = bits_end + 8 * -(-SAMPLE_COUNT // 512)
        weights = raw[weights_at:weights_at + 4 * kept].view("<f4")
        np.testing.assert_array_equal(weights, np.where(ids < 200, 2.0, 1.0))
        self.refuse_select("--filter", "absent/epoch.filter", naming="absent")
        self.refuse_select("--out", "a", "--filter", "./a", naming=["--filter", "--out"])

    def test_log_c_starts_without_losses(self):
        self.assertEqual(len(self.select("--initial-loss", "log-c", "--clip", "log-c", "--class-share", "mass")), 30)

    def test_options_change_the_selection(self):
        base = set(self.select("--losses", "initial.npy"))
        for words in [["--seed", 1], ["--beta", 0.1], ["--epoch", 3]]:
            self.assertNotEqual(set(self.select("--losses", "initial.npy", *words)), base, words)
        self.assertEqual(len(self.select("--losses", "initial.npy", "--pruning-rate", 0.5)), 150)
        self.assertEqual(len(self.select("--losses", "initial.npy", "--classes", 40)), 30)  # empty ones cost nothing

    def test_options_come_from_a_file_too(self):
        expected = self.select("--losses", "initial.npy", "--pruning-rate", 0.8, "--seed", 4, "--class-share", "group")
        (self.folder / "run.toml").write_text('# a run\nlosses = "initial.npy"\npruning-rate = 0.8\nseed = 3\n'
                                              'class-share = "group"\n')
        np.testing.assert_array_equal(self.select("--config", "run.toml", "--seed", 4), expected)
        (self.folder / "bad.toml").write_text("prunning-rate = 0.8\n")
        self.refuse_select("--config", "bad.toml", naming=["--prunning-rate", "did you mean --pruning-rate?"])
        self.refuse_select("--config", "absent.toml", naming="absent.toml")

    def test_summary_is_short_and_true(self):
        text = self.rcap("select", "--labels", "labels.npy", "--losses", "initial.npy", "--out", "ids.npy")
        self.assertIn("30 of 300", text)
        self.assertIn("ids.npy", text)
        self.assertIn("class fractions", text)


class BadInput(CliTest):
    def state_after_first_call(self):
        return self.select("--losses", "initial.npy", "--state", "s.rcap", out="first.npy")

    def refuse_losses(self, losses, ids, naming):
        """Refused both as the losses of a further call and with the state unchanged."""
        self.put("losses.npy", losses)
        self.put("which.npy", ids)
        self.refuse_select("--losses", "losses.npy", "--ids", "which.npy", "--state", "s.rcap", naming=naming)

    def test_losses_that_are_no_losses(self):
        first = self.state_after_first_call()
        for value, name in [(np.nan, "nan"), (np.inf, "inf"), (-np.inf, "-inf"), (-0.25, "-0.25")]:
            for kind in ("<f4", "<f8"):
                losses = np.ones(len(first), dtype=kind)
                losses[7] = value
                self.refuse_losses(losses, first, naming=[name, str(first[7])])
            initial = self.initial.copy()
            initial[123] = value
            self.put("broken.npy", initial)
            self.refuse_select("--losses", "broken.npy", naming=[name, "123"])

    def test_ids_that_are_no_ids(self):
        first = self.state_after_first_call()
        losses = np.ones(len(first))
        for value in (SAMPLE_COUNT, -1, 2**62):
            ids = first.copy()
            ids[3] = value
            self.refuse_losses(losses, ids, naming=str(value))
        ids = first.copy()
        ids[3] = ids[5]
        self.refuse_losses(losses, ids, naming=str(ids[5]))
        stranger = next(i for i in range(SAMPLE_COUNT) if i not in first)
        ids[3] = stranger
        self.refuse_losses(losses, ids, naming=str(stranger))
        self.refuse_losses(losses, first.astype("<u8") + np.uint64(2**63), naming=str(int(first[0]) + 2**63))

    def test_lengths_that_differ_are_told_with_both_numbers(self):
        first = self.state_after_first_call()
        self.refuse_losses(np.ones(29), first, naming=["29", "30", "losses.npy", "which.npy"])
        self.put("losses.npy", np.ones(30))
        self.refuse_select("--losses", "losses.npy", "--state", "s.rcap", naming=["30", "300", "--ids"])
        self.put("short.npy", self.initial[:299])
        self.refuse_select("--losses", "short.npy", naming=["299", "300"])
        self.put("which.npy", np.arange(299))
        self.refuse_select("--losses", "short.npy", "--ids", "which.npy", naming=["299", "300"])
        self.refuse_select("--method", "ccs", "--scores", "short.npy", naming=["299", "300"])
        self.refuse_select("--method", "metriq", "--recalls", "short.npy", naming=["299", "5"])

    def test_labels_out_of_range(self):
        for value in (-3, 2**40):
            labels = self.labels.copy()
            labels[17] = value
            self.put("labels.npy", labels)
            self.refuse_select(naming=[str(value), "17"])
        self.put("labels.npy", self.labels)
        self.refuse_select("--classes", 4, naming="4")

    def test_an_empty_data_set(self):
        self.put("labels.npy", np.zeros(0, dtype=np.int64))
        self.put("none.npy", np.zeros(0, dtype=np.float32))
        self.refuse_select("--losses", "none.npy", naming="sample")

    def test_options_out_of_range(self):
        for words, naming in [(["--pruning-rate", "1"], "1"), (["--pruning-rate", "-0.1"], "-0.1"),
                              (["--pruning-rate", "nan"], "nan"), (["--beta", "0"], "0"), (["--beta", "-1"], "-1"),
                              (["--beta", "inf"], "inf"), (["--epoch", "-1"], "-1"), (["--seed", "-1"], "-1"),
                              (["--threads", "0"], "0"), (["--min-per-class", "-1"], "-1"),
                              (["--classes", "0"], "0"), (["--pruning-rate", "half"], "half"),
                              (["--class-share", "papre"], "did you mean paper?"), (["--epoch", "1.5"], "1.5")]:
            with self.subTest(words=words):
                self.refuse_select(*words, naming=naming)
        for words, naming in [(["infobatch"], "--epochs"), (["ccs"], "--scores"), (["tdds"], "--scores"),
                              (["metriq"], "--recalls"), (["ucb", "--loss-weight", "2"], "2"),
                              (["epsilon-greedy", "--epsilon", "-1"], "-1"), (["ucb", "--period", "0"], "0"),
                              (["ccs", "--scores", "scores.npy", "--strata", "0"], "0"),
                              (["balanced", "--class-share", "deferred"], "class_share deferred: epochs is missing"),
                              (["balanced", "--class-share", "domain", "--reference-losses", "1,2"],
                               f"2 reference_losses for {CLASS_COUNT} classes"),
                              (["balanced", "--eta", "2"], "--eta is for the class shares group-dro and domain"),
                              (["balanced", "--class-share", "robust"], '"robust" is not one of equal, power'),
                              (["el2n"], "--scores FILE is missing: el2n needs"),
                              (["dual", "--scores", "scores.npy"], "--mean-probabilities FILE is missing: dual needs"),
                              (["el2n", "--scores", "scores.npy", "--strata", "9"], "--strata is for choose strata")]:
            with self.subTest(words=words):
                self.refuse_select("--method", *words, naming=naming)

    def test_help_tells_methods_apart_where_they_share_an_option(self):
        text = " ".join(self.rcap("select", "--help").split())
        self.assertIn("bandit|equal", text)
        self.assertIn("[robust; balanced: equal]", text)
        self.assertIn("[first-loss; epsilon-greedy: one]", text)

    def test_an_option_of_another_method_is_refused_with_its_owners(self):
        for words, naming in [(["ucb", "--beta", 3], "ucb has no option --beta; rcap has it"),
                              (["rcap", "--strata", 3],
                               "rcap has no option --strata; ccs, tdds, el2n, forgetting, dyn-unc and dual have it"),
                              (["rs2", "--period", 3], "rs2 has no option --period; ucb and epsilon-greedy have it")]:
            with self.subTest(words=words):
                self.refuse_select("--method", *words, naming=naming)
        (self.folder / "run.toml").write_text("beta = 3\n")
        self.refuse_select("--method", "ucb", "--config", "run.toml", naming="ucb has no option --beta")

    def test_a_config_that_is_no_toml_names_the_line(self):
        (self.folder / "run.toml").write_text("seed = 1\n= 1\n")
        self.refuse_select("--config", "run.toml", naming="run.toml:2:")

    def test_arrays_of_another_kind(self):
        whole = self.contents()["labels.npy"]
        for name, array, naming in [
            ("big-endian", self.labels.astype(">i4"), ["big-endian int32", "astype('<i4')"]),
            ("objects", self.labels.astype(object), ["Python objects"]),
            ("floats", self.labels.astype("<f4"), ["float32"]),
            ("flat", self.labels.reshape(-1, 1), ["shape (300, 1)"]),
            ("fortran", np.asfortranarray(self.labels.reshape(30, 10)), ["Fortran-ordered"]),
            ("bool", self.labels > 2, ["bool"]), ("strings", self.labels.astype(str), ["strings"]),
            ("complex", self.labels.astype(complex), ["complex128"]),
            ("records", np.zeros(3, dtype=[("a", "<i4"), ("b", "<f8")]), ["structured records"]),
        ]:
            with self.subTest(name=name):
                np.save(self.folder / "labels.npy", array, allow_pickle=True)
                self.refuse_select(naming=["labels.npy", *naming])
        for name, content, naming in [("truncated", whole[:-1], ["truncated", "2400", "2399"]),
                                      ("longer", whole + b"\0", ["2400", "2401"]),
                                      ("header", whole[:40], ["labels.npy"]), ("empty", b"", ["labels.npy"]),
                                      ("text", b"0 1 2 0 1 2 0 1", ["not a .npy file"])]:
            with self.subTest(name=name):
                (self.folder / "labels.npy").write_bytes(content)
                self.refuse_select(naming=naming)
        self.put("labels.npy", self.labels)
        for kind, naming in [(">f4", "big-endian float32"), ("<f2", "float16"), ("<i4", "int32")]:
            self.put("losses.npy", self.initial.astype(kind))
            self.refuse_select("--losses", "losses.npy", naming=["losses.npy", naming])
        self.refuse_select("--labels", "absent.npy", naming="absent.npy")

    def test_a_state_of_another_data_set_method_or_option(self):
        self.state_after_first_call()
        for words, naming in [(["--seed", "1"], "seed"), (["--beta", "2"], "beta"),
                              (["--method", "rs2"], "rs2"), (["--pruning-rate", "0.5"], "0.5")]:
            with self.subTest(words=words):
                self.refuse_select("--state", "s.rcap", *words, naming=["s.rcap", naming])
        self.put("labels.npy", np.roll(self.labels, 1))
        self.refuse_select("--state", "s.rcap", naming="s.rcap")
        self.put("labels.npy", self.labels[:200])
        self.refuse_select("--state", "s.rcap", naming=["s.rcap", "300", "200"])
        self.put("labels.npy", self.labels)
        content = (self.folder / "s.rcap").read_bytes()
        for broken in (content[:-1], content + b"x", b"", content[:100] + b"\xff" + content[101:]):
            (self.folder / "s.rcap").write_bytes(broken)
            self.refuse_select("--state", "s.rcap", naming="s.rcap")

    def test_missing_arguments_are_asked_for(self):
        self.assert_refused("select", "--out", "ids.npy", naming="--labels")
        self.assert_refused("select", "--labels", "labels.npy", naming="--out")
        self.assert_refused("select", "--labels", "labels.npy", "--out", "ids.npy", "--class-share", "paper",
                            naming=["--losses", "--initial-loss first-epoch", "300"])
        self.assert_refused("select", "--labels", "labels.npy", "--out", "ids.npy", "--ids", "labels.npy",
                            naming=["--ids", "--losses"])
        self.refuse_select("--out", naming="--out")

    def test_outputs_that_cannot_be_written(self):
        self.refuse_select("--out", "absent/ids.npy", naming="absent")
        self.refuse_select("--out", ".", naming="regular file")
        self.refuse_select("--weights", "absent/weights.npy", naming="absent")
        self.refuse_select("--state", "absent/s.rcap", naming="absent")
        self.refuse_select("--out", "labels.npy", naming=["--out", "--labels"])
        self.refuse_select("--out", "a.npy", "--weights", "./a.npy", naming=["--weights", "--out"])

    def test_a_disk_that_fills_up_changes_nothing(self):
        self.state_after_first_call()
        before = self.contents()
        words = ["select", "--labels", "labels.npy", "--state", "s.rcap", "--out", "ids.npy", "--weights", "w.npy"]
        # Ids of 30 samples fit, the state of 300 does not; as on a full disk, write() fails.
        result = subprocess.run([PROGRAM, *words], cwd=self.folder, capture_output=True, text=True, check=False,
                                restore_signals=False,
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600)))
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertRegex(result.stderr, r"\Arcap: [^\n]*s\.rcap[^\n]*\n\Z")
        self.assertEqual(self.contents(), before)

    @unittest.skipUnless(os.path.exists("/dev/full"), "needs /dev/full")
    def test_a_full_standard_output_is_not_success(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            result = subprocess.run([PROGRAM, "--version"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual((result.returncode, result.stderr), (1, "rcap: cannot write to standard output\n"))


if __name__ == "__main__":
    unittest.main()
