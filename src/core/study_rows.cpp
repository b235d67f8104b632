#include "core/study_rows.hpp"

#include <array>

namespace rcap {
namespace {

constexpr std::string_view FashionResults = "docs/results/fashion";
constexpr std::string_view TableResults = "docs/results/tables";

// Accuracies: full, rcap, balanced, rs2.
constexpr auto MeasuredRows = std::to_array<StudyRow>({
    {FashionResults, "balanced", 1, 0.7, {69.5, 89.3}, {70.8, 87.9}, {61.6, 87.0}, {60.7, 87.0}},
    {FashionResults, "balanced", 1, 0.9, {69.5, 89.3}, {60.0, 83.7}, {40.0, 81.8}, {41.7, 82.0}},
    {TableResults, "letters", 1.1, 0.5, {92.4, 97.0}, {91.7, 96.6}, {91.0, 96.3}, {91.1, 96.3}},
    {TableResults, "letters", 1.1, 0.7, {92.4, 97.0}, {90.8, 96.0}, {87.5, 94.9}, {87.3, 95.0}},
    {TableResults, "letters", 1.1, 0.8, {92.4, 97.0}, {86.7, 93.6}, {81.0, 91.3}, {79.9, 91.4}},
    {TableResults, "letters", 1.1, 0.9, {92.4, 97.0}, {83.5, 90.5}, {74.7, 88.0}, {72.1, 87.7}},
    {FashionResults,
     "long-tailed 10",
     10,
     0.7,
     {51.9, 88.8},
     {69.6, 88.9},
     {65.7, 88.2},
     {41.2, 86.6}},
    {FashionResults,
     "long-tailed 10",
     10,
     0.9,
     {51.9, 88.8},
     {68.2, 86.1},
     {53.3, 84.8},
     {17.7, 81.9}},
    {FashionResults,
     "long-tailed 100",
     100,
     0.7,
     {24.7, 82.6},
     {53.2, 86.2},
     {36.8, 84.2},
     {0.8, 71.8}},
    {FashionResults,
     "long-tailed 100",
     100,
     0.9,
     {24.7, 82.6},
     {61.1, 82.5},
     {44.2, 81.5},
     {0.0, 53.6}},
    {TableResults, "Shuttle", 4559, 0.5, {99.3, 99.9}, {99.5, 99.9}, {99.2, 99.9}, {78.2, 96.9}},
    {TableResults, "Shuttle", 4559, 0.7, {99.3, 99.9}, {99.5, 99.9}, {99.8, 99.9}, {28.2, 81.6}},
    {TableResults, "Shuttle", 4559, 0.8, {99.3, 99.9}, {99.5, 99.9}, {99.8, 99.9}, {0.0, 77.6}},
    {TableResults, "Shuttle", 4559, 0.9, {99.3, 99.9}, {99.6, 99.9}, {99.6, 99.9}, {0.0, 63.2}},
    {TableResults, "FARS", 4212, 0.5, {19.8, 64.3}, {41.8, 69.2}, {34.9, 66.3}, {15.9, 64.6}},
    {TableResults, "FARS", 4212, 0.7, {19.8, 64.3}, {48.4, 69.6}, {40.7, 68.6}, {13.1, 64.0}},
    {TableResults, "FARS", 4212, 0.8, {19.8, 64.3}, {45.0, 70.1}, {38.8, 69.6}, {12.6, 63.0}},
    {TableResults, "FARS", 4212, 0.9, {19.8, 64.3}, {44.6, 70.7}, {36.4, 71.4}, {10.3, 63.0}},
});

}  // namespace

std::span<const StudyRow> study_rows() noexcept { return MeasuredRows; }

}  // namespace rcap
