# SPDX-License-Identifier: Apache-2.0
# Contexts, tools and threads that come and go; meant for the builds with sanitizers as well.
add_executable(stress_tools ${CMAKE_CURRENT_LIST_DIR}/stress.c)
target_link_libraries(stress_tools PRIVATE kymo_core Threads::Threads)
add_test(NAME stress.tools COMMAND stress_tools 6 64)
set_tests_properties(stress.tools PROPERTIES LABELS stress TIMEOUT 60)
