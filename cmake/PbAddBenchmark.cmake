# pb_add_benchmark(name FILES .. LINKS ..): a Google Benchmark program in <build>/benchmarks. Benchmarks are never tests:
# they are run by hand, pinned to a core (`taskset -c 1 build/benchmarks/<name>`).
function(pb_add_benchmark name)
    cmake_parse_arguments(ARG "" "" "FILES;LINKS" ${ARGN})
    add_executable(${name} ${ARG_FILES})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/benchmarks)
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${name} PRIVATE ${ARG_LINKS} benchmark::benchmark benchmark::benchmark_main pb_options)
endfunction()
