# pb_add_test(name LABEL unit|mpi|gpu|.. FILES .. LINKS .. [RANKS 1 2 3 4] [GPUS n] [TIMEOUT s])
# One executable per name; one ctest entry, or one for each rank count. A program whose every test was skipped exits
# with 77 (tests/support/main.cpp and mpi_main.cpp), which ctest shows as skipped, never as passed. The label `sanitized` marks
# the one rank count of a program that tests/run.sh repeats under the sanitizers: 3, whose splits are uneven, else the last.
include(GoogleTest)
add_library(pb_test_main STATIC ${PROJECT_SOURCE_DIR}/tests/support/main.cpp)
target_link_libraries(pb_test_main PUBLIC GTest::gtest GTest::gmock pb_options)
add_library(pb_mpi_test_main STATIC ${PROJECT_SOURCE_DIR}/tests/support/mpi_main.cpp)
target_link_libraries(pb_mpi_test_main PUBLIC GTest::gtest GTest::gmock MPI::MPI_C pb_options)
# What nearly every test includes is parsed once, and the code of tests is compiled quickly rather than made fast: GCC takes
# twice as long to optimise what the sanitizers add.
set(pb_test_options -O1 $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds>) # GCC 12 warns wrongly where it inlines less
if(PATCHBENCH_SANITIZE)
    set(pb_test_options -O0)
endif()
target_compile_options(pb_test_main PRIVATE ${pb_test_options})
target_precompile_headers(pb_test_main PRIVATE <gmock/gmock.h> <gtest/gtest.h> <algorithm> <filesystem> <fstream>
    <functional> <map> <random> <string> <vector>)

set(PATCHBENCH_MPIRUN ${MPIEXEC_EXECUTABLE} --allow-run-as-root --oversubscribe --bind-to none
    CACHE STRING "How tests start ranks; `-n <ranks>` follows")

# The programs of the tests that tests/run.sh repeats under the sanitizers: those of unit tests, and of MPI tests, of each of
# which it repeats one rank count. A program that is missing here makes its test fail there.
add_custom_target(pb_sanitized_tests)

function(pb_add_test name)
    cmake_parse_arguments(ARG "" "LABEL;GPUS;TIMEOUT" "FILES;LINKS;RANKS;ENVIRONMENT" ${ARGN})
    if(NOT ARG_TIMEOUT)
        set(ARG_TIMEOUT 60)
    endif()
    if(PATCHBENCH_SANITIZE)
        math(EXPR ARG_TIMEOUT "3 * ${ARG_TIMEOUT}")
    endif()
    add_executable(${name} ${ARG_FILES})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    target_compile_options(${name} PRIVATE ${pb_test_options})
    target_precompile_headers(${name} REUSE_FROM pb_test_main)
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/src)
    if(ARG_LABEL MATCHES "^(unit|mpi)$")
        add_dependencies(pb_sanitized_tests ${name})
    endif()
    if(ARG_RANKS)
        target_link_libraries(${name} PRIVATE ${ARG_LINKS} pb_mpi_test_main)
        foreach(ranks ${ARG_RANKS})
            add_test(NAME ${name}.${ranks} COMMAND ${PATCHBENCH_MPIRUN} -n ${ranks} $<TARGET_FILE:${name}>)
            pb_describe_test(${name}.${ranks} ${ranks})
        endforeach()
        if(NOT 3 IN_LIST ARG_RANKS)
            list(GET ARG_RANKS -1 sanitized_ranks)
        else()
            set(sanitized_ranks 3)
        endif()
        set_property(TEST ${name}.${sanitized_ranks} APPEND PROPERTY LABELS sanitized)
    else()
        target_link_libraries(${name} PRIVATE ${ARG_LINKS} pb_test_main)
        add_test(NAME ${name} COMMAND ${name})
        pb_describe_test(${name} 1)
    endif()
endfunction()

# Where ctest starts a test among those that are not run yet. Those of several processors come first, or they would wait until
# nothing else is left, and then run one by one; of the others those that may take long, or one would run on alone at the end.
function(pb_start_in_order test processors timeout)
    math(EXPR cost "10000 * (${processors} - 1) + ${timeout}")
    set_tests_properties(${test} PROPERTIES COST ${cost})
endfunction()

# ctest runs what sets up other tests before all others. Such a test takes every slot. With one slot, tests of one processor
# would start beside it and take each slot that comes free, and those of several processors would wait until all of them are done.
function(pb_set_up_alone test)
    set_tests_properties(${test} PROPERTIES PROCESSORS 1024)
endfunction()

# Label, processors, time-out and the skip code of one ctest entry (reads ARG_* of the caller).
macro(pb_describe_test test processors)
    set_tests_properties(${test} PROPERTIES LABELS "${ARG_LABEL}" PROCESSORS ${processors} TIMEOUT ${ARG_TIMEOUT}
        SKIP_RETURN_CODE 77 ENVIRONMENT "OMP_NUM_THREADS=1;OMP_WAIT_POLICY=passive;OMPI_MCA_btl_vader_single_copy_mechanism=none;${ARG_ENVIRONMENT}")
    pb_start_in_order(${test} ${processors} ${ARG_TIMEOUT})
endmacro()
