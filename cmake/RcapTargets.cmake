# What every target of rcap shares: warnings, sanitizers, and the two ways to add a test.

# rcap_spell_options(OUT OPTION ...): options of GCC and clang as this compiler wants them: clang that
# stands in for Microsoft's has them behind a prefix.
function(rcap_spell_options out)
  set(options ${ARGN})
  if(CMAKE_CXX_COMPILER_FRONTEND_VARIANT STREQUAL "MSVC")
    list(TRANSFORM options PREPEND "/clang:")
  endif()
  set(${out} ${options} PARENT_SCOPE)
endfunction()

add_library(rcap_warnings INTERFACE)
rcap_spell_options(warnings -Wall -Wextra -Wshadow -Wconversion)
# Clang has more behind the same names than GCC: what GCC says is the measure for both. Where
# several files are compiled together GCC takes each for a header, which these should not be.
target_compile_options(rcap_warnings INTERFACE ${warnings}
  $<$<CXX_COMPILER_ID:Clang,AppleClang>:-Wno-sign-conversion;-Wno-bitwise-instead-of-logical>
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${CMAKE_UNITY_BUILD}>>:-Wno-subobject-linkage>
  $<$<BOOL:${RCAP_WERROR}>:-Werror>)

if(RCAP_SANITIZE)
  if(RCAP_FUZZ)
    # What libFuzzer steers by; a program without it runs as before.
    add_compile_options(-fsanitize=fuzzer-no-link)
    add_link_options(-fsanitize=fuzzer-no-link)
  endif()
  # GCC and clang tell their sanitizers by different macros.
  add_compile_definitions(RCAP_SANITIZED)
  add_compile_options(-fsanitize=${RCAP_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${RCAP_SANITIZE})
endif()

# rcap_add_test(NAME [TORCH] SOURCES ... LIBS ... LABEL ...): a GoogleTest program, one
# ctest entry for all of its tests (they take milliseconds; a process each would cost more).
# TORCH: it uses LibTorch and shares its precompiled header; the others share that of gmock.
function(rcap_add_test name)
  cmake_parse_arguments(ARG "TORCH" "LABEL" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} rcap_test_options GTest::gmock_main)
  if(ARG_TORCH)
    rcap_use_torch(${name})
  else()
    target_precompile_headers(${name} REUSE_FROM rcap_test_headers)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABEL}")
endfunction()

# rcap_add_python_test(NAME SCRIPT [ARGUMENTS ...] LABEL ... ENVIRONMENT ...): a script of this
# folder that judges our programs from outside; ENVIRONMENT tells it where they are.
function(rcap_add_python_test name script)
  cmake_parse_arguments(ARG "" "LABEL" "ARGUMENTS;ENVIRONMENT" ${ARGN})
  add_test(NAME ${name}
    COMMAND ${RCAP_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/${script} ${ARG_ARGUMENTS})
  set_tests_properties(${name} PROPERTIES
    LABELS ${ARG_LABEL}
    ENVIRONMENT "${ARG_ENVIRONMENT};PYTHONDONTWRITEBYTECODE=1")
endfunction()
