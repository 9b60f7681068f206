option(ROOFTILE_BUILD_TESTS "Build the tests" ON)
option(ROOFTILE_BUILD_BENCH "Build the benchmarks" OFF)
option(ROOFTILE_BUILD_FUZZERS "Build the libFuzzer targets (Clang)" OFF)
option(ROOFTILE_WERROR "Treat warnings as errors" OFF)
option(ROOFTILE_UNITY "Compile the sources of a layer in batches: a whole build takes a third" OFF)
set(ROOFTILE_SANITIZE "" CACHE STRING "Sanitizers, e.g. address,undefined or thread")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

# Debug builds run the whole test suite: light optimisation makes that several times faster, and the
# standard library checks its preconditions.
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g -D_GLIBCXX_ASSERTIONS")

# -O3 would make ./x run take a third longer and no command faster.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()
find_program(MOLD mold)
if(MOLD AND CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
  add_link_options(-fuse-ld=mold)
endif()

find_package(Eigen3 REQUIRED NO_MODULE)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(Threads REQUIRED)
