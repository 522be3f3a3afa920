# pb_add_layer(name [STATIC] SOURCES .. LINKS .. PRIVATE_LINKS ..): the library pb_<name> from src/<name>, where its headers lie
# beside its sources; include/patchbench/ holds those that a program outside needs too. Layers link only the layers they may
# include (tests/check_layers.py enforces the table). Of a STATIC one tests can replace an object by their own.
add_library(pb_options INTERFACE)
target_compile_options(pb_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wno-missing-field-initializers>
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict> # GCC 12 warns wrongly on literal + std::string (GCC bug 105651)
    # Of no meaning where a source is included by the file that is compiled.
    $<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<BOOL:${CMAKE_UNITY_BUILD}>>:-Wno-subobject-linkage>
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${PATCHBENCH_WERROR}>>:-Werror>)
if(PATCHBENCH_SANITIZE)
    target_compile_options(pb_options INTERFACE
        $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${PATCHBENCH_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined>)
    target_link_options(pb_options INTERFACE -fsanitize=${PATCHBENCH_SANITIZE})
endif()

# What is installed has no path of this tree in it.
function(pb_include_project target)
    target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
endfunction()

function(pb_add_layer name)
    cmake_parse_arguments(ARG STATIC "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
    set(kind ${PATCHBENCH_LIBRARIES})
    if(ARG_STATIC)
        set(kind STATIC)
    endif()
    add_library(pb_${name} ${kind} ${ARG_SOURCES})
    if(PATCHBENCH_LIBRARIES STREQUAL SHARED) # which a static one becomes a part of
        set_target_properties(pb_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    endif()
    pb_include_project(pb_${name})
    target_link_libraries(pb_${name} PUBLIC ${ARG_LINKS} PRIVATE ${ARG_PRIVATE_LINKS} pb_options)
    pb_add_headers(${name} LINKS pb_${name} ${ARG_PRIVATE_LINKS})
endfunction()

# Each header compiles alone: `cmake --build <dir> --target pb_headers`. Left out is what includes LibTorch (half a minute
# each) or ONNX (whose protobuf is not LibTorch's), and what only nvcc reads.
add_custom_target(pb_headers)

function(pb_add_headers name)
    cmake_parse_arguments(ARG "" "" "LINKS" ${ARGN})
    file(GLOB_RECURSE headers RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS
        ${PROJECT_SOURCE_DIR}/include/patchbench/${name}/*.hpp ${PROJECT_SOURCE_DIR}/src/${name}/*.hpp)
    list(FILTER headers EXCLUDE REGEX "/(torch|onnx)/")
    foreach(header ${headers})
        string(REGEX REPLACE "^(include|src)/" "" header ${header})
        file(CONFIGURE OUTPUT headers/${header}.cpp CONTENT "#include \"${header}\" // IWYU pragma: keep\n")
        list(APPEND sources ${CMAKE_CURRENT_BINARY_DIR}/headers/${header}.cpp)
    endforeach()
    add_library(pb_${name}_headers OBJECT EXCLUDE_FROM_ALL ${sources})
    set_target_properties(pb_${name}_headers PROPERTIES UNITY_BUILD OFF)
    target_link_libraries(pb_${name}_headers PRIVATE ${ARG_LINKS} pb_options)
    add_dependencies(pb_headers pb_${name}_headers)
endfunction()
