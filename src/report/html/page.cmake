# Joins the template, style sheet, scripts and plotly into the page of the report, which the program embeds. Scripts are
# in the order in which they depend on one another. Sections may be in any order: main.js sets the order of the page.
set(report_scripts base model chart summary findings shape batch fit bars engines scaling roofline stages timeline layers telemetry seams images tables main)
list(TRANSFORM report_scripts PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/html/js/)
list(TRANSFORM report_scripts APPEND .js)
list(JOIN report_scripts "|" joined_scripts)
set(report_template ${CMAKE_CURRENT_SOURCE_DIR}/html/report.html)
set(report_style ${CMAKE_CURRENT_SOURCE_DIR}/html/report.css)
set(report_page ${CMAKE_CURRENT_BINARY_DIR}/report_page.html)
set(inline_page ${PROJECT_SOURCE_DIR}/cmake/InlinePage.cmake)
add_custom_command(OUTPUT ${report_page}
    COMMAND ${CMAKE_COMMAND} -DTEMPLATE=${report_template} -DSTYLE=${report_style} "-DSCRIPTS=${joined_scripts}"
            -DPLOTLY=${PATCHBENCH_PLOTLY} -DOUTPUT=${report_page} -P ${inline_page}
    DEPENDS ${report_template} ${report_style} ${report_scripts} ${PATCHBENCH_PLOTLY} ${inline_page}
    VERBATIM)
configure_file(html/page.S.in report_page.S @ONLY)
set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/report_page.S PROPERTIES OBJECT_DEPENDS ${report_page})
