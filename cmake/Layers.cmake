# pb_add_layer(name SOURCES .. LINKS .. PRIVATE_LINKS ..): the static library pb_<name> from src/<name>, headers from
# include/patchbench/<name>. Layers link only the layers they may include (tests/check_layers.py enforces the table).
add_library(pb_options INTERFACE)
target_compile_options(pb_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wno-missing-field-initializers>
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict> # GCC 12 warns wrongly on literal + std::string (GCC bug 105651)
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${PATCHBENCH_WERROR}>>:-Werror>)
if(PATCHBENCH_SANITIZE)
    target_compile_options(pb_options INTERFACE
        $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${PATCHBENCH_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined>)
    target_link_options(pb_options INTERFACE -fsanitize=${PATCHBENCH_SANITIZE})
endif()

function(pb_add_layer name)
    cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
    add_library(pb_${name} STATIC ${ARG_SOURCES})
    target_include_directories(pb_${name} PUBLIC ${PROJECT_SOURCE_DIR}/include PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(pb_${name} PUBLIC ${ARG_LINKS} PRIVATE ${ARG_PRIVATE_LINKS} pb_options)
    # Headers compile alone: `cmake --build <dir> --target all_verify_interface_header_sets`.
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/patchbench/${name}/*.hpp)
    if(headers)
        target_sources(pb_${name} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${headers})
        set_target_properties(pb_${name} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
    endif()
endfunction()
