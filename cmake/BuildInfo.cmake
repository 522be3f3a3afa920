# Run at every build: writes build_info.cpp with the git state, only when it changed.
# In: SOURCE_DIR, OUTPUT, VERSION, BUILD_TYPE, COMPILER. A folder without git (a bundle, an archive) says "unknown".
execute_process(COMMAND git -C ${SOURCE_DIR} rev-parse --short=12 HEAD OUTPUT_VARIABLE sha ERROR_QUIET
    OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
if(failed)
    set(sha unknown)
endif()
execute_process(COMMAND git -C ${SOURCE_DIR} status --porcelain --untracked-files=no OUTPUT_VARIABLE changes ERROR_QUIET)
if(changes)
    set(dirty true)
else()
    set(dirty false)
endif()
set(text "#include \"run/environment.hpp\"\n
namespace pb::run {
const record::Build& build_info() {
    static const record::Build info{\"${VERSION}\", \"${sha}\", ${dirty}, \"${COMPILER}\", \"${BUILD_TYPE}\"};
    return info;
}
}  // namespace pb::run\n")
set(old "")
if(EXISTS ${OUTPUT})
    file(READ ${OUTPUT} old)
endif()
if(NOT old STREQUAL text)
    file(WRITE ${OUTPUT} "${text}")
endif()
