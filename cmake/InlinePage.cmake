# Run at build time: one file out of the page's template, style sheet, scripts and plotly.
# In: TEMPLATE, STYLE, SCRIPTS (separated by |), PLOTLY, OUTPUT.
function(inline marker) # files..
    set(content "")
    foreach(file IN LISTS ARGN)
        file(READ "${file}" text)
        string(APPEND content "${text}")
    endforeach()
    string(FIND "${page}" "${marker}" place)
    if(place EQUAL -1)
        message(FATAL_ERROR "${TEMPLATE} has no ${marker}")
    endif()
    string(REPLACE "${marker}" "${content}" page "${page}")
    set(page "${page}" PARENT_SCOPE)
endfunction()

file(READ "${TEMPLATE}" page)
string(REPLACE "|" ";" scripts "${SCRIPTS}")
inline("/* @inline report.css */" "${STYLE}")
inline("/* @inline js */" ${scripts})
inline("/* @inline plotly.min.js */" "${PLOTLY}")
file(WRITE "${OUTPUT}" "${page}")
