# LibTorch behind one target, rcap_torch: its headers as system headers (our warnings do
# not judge them) and one precompiled header for everything that uses it. A file that
# includes all of LibTorch by itself takes half a minute.

# The wheel that scripts/setup installed; Torch_DIR names another LibTorch.
if(NOT Torch_DIR AND DEFINED ENV{Torch_DIR})
  set(Torch_DIR $ENV{Torch_DIR})
endif()
if(NOT Torch_DIR)
  file(GLOB Torch_DIR
    ${PROJECT_SOURCE_DIR}/.venv/lib/python3.*/site-packages/torch/share/cmake/Torch)
endif()
find_package(Torch REQUIRED)
separate_arguments(rcap_torch_flags UNIX_COMMAND "${TORCH_CXX_FLAGS}")

add_library(rcap_torch STATIC ${PROJECT_SOURCE_DIR}/src/models/torch_headers.cpp)
target_include_directories(rcap_torch SYSTEM PUBLIC ${TORCH_INCLUDE_DIRS})
target_include_directories(rcap_torch
  PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
# LibTorch brings {fmt} of its own version; its users take that one, from its headers, and
# must not link Debian's.
target_compile_definitions(rcap_torch PUBLIC FMT_HEADER_ONLY=1)
target_compile_options(rcap_torch PUBLIC ${rcap_torch_flags})
target_link_libraries(rcap_torch PUBLIC ${TORCH_LIBRARIES} PRIVATE rcap_warnings)
target_precompile_headers(rcap_torch PRIVATE ${PROJECT_SOURCE_DIR}/src/models/torch_headers.hpp)

# rcap_use_torch(TARGET): links LibTorch and shares the precompiled header.
function(rcap_use_torch target)
  target_link_libraries(${target} PRIVATE rcap_torch)
  target_precompile_headers(${target} REUSE_FROM rcap_torch)
  # What takes the time is LibTorch, not our code: eight files together compile nearly as fast as two.
  # So they are together in every preset but one that says CMAKE_UNITY_BUILD=OFF.
  if(NOT DEFINED CMAKE_UNITY_BUILD OR CMAKE_UNITY_BUILD)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
endfunction()
