#pragma once

#include <span>
#include <string>

/// The commands of `rcap`. Each takes the words after its name and throws InvalidArgument and
/// BadFile for the user's mistakes; train, model and figure are separate programs.
namespace rcap::cli {

/// `rcap advise`: whether pruning will help, from labels in a .npy file.
void run_advise(std::span<const std::string> words);

/// `rcap bench select`: times selection and bookkeeping on synthetic data.
void run_bench(std::span<const std::string> words);
/// `rcap bench methods`: times a selection of every dynamic method.
void run_bench_methods(std::span<const std::string> words);
/// `rcap bench data`: how many images per second are prepared for a network.
void run_bench_data(std::span<const std::string> words);

/// `rcap data list`: the data sets, and which of them are on this machine.
void run_data(std::span<const std::string> words);
/// `rcap data pack`: decodes and resizes the images of a data set into one file.
/// @throws Stopped  Ctrl-C; what was done is safe
void run_data_pack(std::span<const std::string> words);
/// `rcap data verify [NAME]`: compares the files of data sets with the published sizes and
/// checksums; images in your own folders are decoded once.
/// @throws BadFile  after the report: a file is damaged, or one of several is missing, or the named
///                  data set is not there
void run_data_verify(std::span<const std::string> words);

/// `rcap doctor`: what this machine and this build have for rcap.
void run_doctor(std::span<const std::string> words);

/// `rcap report DIR`: the page that shows a study.
void run_report(std::span<const std::string> words);

/// `rcap select`: labels and losses from .npy files in, the ids of an epoch out.
///
/// Without a state file the pruner is new; with one it continues from there. Files are written at
/// the very end, ids first and the state last, each atomically: on an error nothing has changed,
/// and after a crash, repeating the command completes it.
/// @throws StateMismatch  the state is that of another pruner
void run_select(std::span<const std::string> words);

/// `rcap study PLAN.toml`: makes all runs of a plan, then tables, figures and the report.
/// @throws Stopped  Ctrl-C; what was done is safe
void run_study_command(std::span<const std::string> words);

/// `rcap watch RUN`: draws a training that is under way, until it ends.
void run_watch(std::span<const std::string> words);

}  // namespace rcap::cli
