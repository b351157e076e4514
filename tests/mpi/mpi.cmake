# SPDX-License-Identifier: Apache-2.0
# Programs of both implementations, built by their own compilers, recorded; what they count themselves
# must be in the trace.
set(mpi_dir ${CMAKE_BINARY_DIR}/mpi-programs)
file(MAKE_DIRECTORY ${mpi_dir})
set(mpi_programs "")

function(mpi_program compiler output)
  add_custom_command(OUTPUT ${mpi_dir}/${output} DEPENDS ${ARGN}
                     COMMAND ${compiler} -g -O1 -w -I${PROJECT_SOURCE_DIR}/include -o ${mpi_dir}/${output} ${ARGN}
                             -ldl VERBATIM)
  set(mpi_programs ${mpi_programs} ${mpi_dir}/${output} PARENT_SCOPE)
endfunction()

add_library(unknown_mpi SHARED ${CMAKE_CURRENT_LIST_DIR}/unknown_mpi.c)
target_compile_options(unknown_mpi PRIVATE -fvisibility=default)
add_executable(mpi_unknown ${CMAKE_CURRENT_LIST_DIR}/unknown.c)
target_link_libraries(mpi_unknown PRIVATE unknown_mpi)
add_executable(mpi_optional ${CMAKE_CURRENT_LIST_DIR}/optional.c)
set_target_properties(unknown_mpi PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${mpi_dir})
set_target_properties(mpi_unknown PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${mpi_dir} OUTPUT_NAME unknown)
set_target_properties(mpi_optional PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${mpi_dir} OUTPUT_NAME optional)

foreach(name ${KYMO_MPI_MODULES})
  foreach(program traffic ending two sparse spawn die bare names match objects nulls locks)
    mpi_program(${KYMO_MPI_COMPILER_${name}} ${program}.${name} ${CMAKE_CURRENT_LIST_DIR}/${program}.c)
  endforeach()
  mpi_program(${KYMO_MPI_COMPILER_${name}} other.${name} ${CMAKE_CURRENT_LIST_DIR}/ending.c)
  foreach(tool other_tool count translator)
    add_custom_command(OUTPUT ${mpi_dir}/${tool}.${name} DEPENDS ${CMAKE_CURRENT_LIST_DIR}/${tool}.c
                       COMMAND ${KYMO_MPI_COMPILER_${name}} -shared -fPIC -g -O1 -w -o ${mpi_dir}/${tool}.${name}
                               ${CMAKE_CURRENT_LIST_DIR}/${tool}.c VERBATIM)
    list(APPEND mpi_programs ${mpi_dir}/${tool}.${name})
  endforeach()
  find_program(KYMO_MPI_FORTRAN_${name} mpif90.${name})
  mark_as_advanced(KYMO_MPI_FORTRAN_${name})
  if(KYMO_MPI_FORTRAN_${name})
    foreach(kind mpif mpi f08)
      mpi_program(${KYMO_MPI_FORTRAN_${name}} ring_${kind}.${name}
                  ${CMAKE_CURRENT_LIST_DIR}/ring_${kind}.f90)
    endforeach()
  endif()
  if(NOT KYMO_HAVE_SQLITE) # they ask the store
    continue()
  endif()
  add_test(NAME mpi.${name} COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/test_mpi.py
           $<TARGET_FILE:kymo> ${name} ${mpi_dir})
  add_test(NAME mpi.jobs.${name} COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/test_jobs.py
           $<TARGET_FILE:kymo> ${name} ${mpi_dir})
  add_test(NAME mpi.slurm.${name} COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/test_slurm.py
           $<TARGET_FILE:kymo> ${name} ${mpi_dir})
  add_test(NAME mpi.launch.${name} COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/test_launch.py
           $<TARGET_FILE:kymo> ${name} ${mpi_dir})
  set_tests_properties(mpi.${name} mpi.jobs.${name} mpi.launch.${name} mpi.slurm.${name} PROPERTIES LABELS mpi TIMEOUT 600
                       SKIP_RETURN_CODE 77 RESOURCE_LOCK mpi_ranks) # more ranks than processors in one of them
endforeach()
add_custom_target(mpi_programs ALL DEPENDS ${mpi_programs})
