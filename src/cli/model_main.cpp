#include "cli/cmd_model.hpp"
#include "cli/run_main.hpp"

int main(int argc, char** argv) { return rcap::cli::run_main(argc, argv, rcap::cli::run_model); }
