# PATCHBENCH_PLOTLY: plotly.min.js of the wheel `plotly`, which launch/setup.sh installs. It goes into the program and from
# there into every report, which then needs no network.
file(GLOB plotly_folders ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/plotly/package_data)
find_file(PATCHBENCH_PLOTLY plotly.min.js PATHS ${plotly_folders} NO_DEFAULT_PATH DOC "plotly.min.js of the plotly wheel")
if(NOT PATCHBENCH_PLOTLY)
    message(FATAL_ERROR "plotly.min.js is missing: run launch/setup.sh, or pip install plotly==6.3.0 somewhere and pass "
        "-DPATCHBENCH_PLOTLY=<site-packages>/plotly/package_data/plotly.min.js")
endif()
