#include "cli/cmd_figure.hpp"
#include "cli/run_main.hpp"

int main(int argc, char** argv) { return rcap::cli::run_main(argc, argv, rcap::cli::run_figure); }
