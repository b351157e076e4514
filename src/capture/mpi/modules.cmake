# SPDX-License-Identifier: Apache-2.0
# A module for each implementation of MPI whose compiler is here; KYMO_MPI_COMPILERS names more, e.g.
# "/opt/cray/bin/cc". Only headers are used: modules are linked to no MPI.
set(KYMO_WITH_MPI auto CACHE STRING "calls of MPI programs, messages, jobs")
set_property(CACHE KYMO_WITH_MPI PROPERTY STRINGS auto on off)
set(KYMO_MPI_COMPILERS "mpicc.openmpi;mpicc.mpich" CACHE STRING
    "MPI compilers; a module is built for each implementation that one of them knows")
set(MPI_MODULES "")

# The name of an implementation, from the macros of its mpi.h.
function(mpi_implementation compiler out_name out_includes out_text)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/probe.c)
  file(WRITE ${source} "#include <mpi.h>\n")
  execute_process(COMMAND ${compiler} -E -dD ${source} OUTPUT_VARIABLE text ERROR_QUIET
                  RESULT_VARIABLE failed)
  execute_process(COMMAND ${compiler} -show OUTPUT_VARIABLE line ERROR_QUIET)
  set(name "")
  if(NOT failed AND text MATCHES "#define OPEN_MPI ")
    set(name openmpi)
  elseif(NOT failed AND text MATCHES "#define MPICH_VERSION ")
    set(name mpich)
  endif()
  string(REGEX MATCHALL "-I *[^ \n]+" flags "${line}")
  list(TRANSFORM flags REPLACE "^-I *" "")
  set(${out_name} ${name} PARENT_SCOPE)
  set(${out_includes} "${flags}" PARENT_SCOPE)
  set(${out_text} "${text}" PARENT_SCOPE)
endfunction()

function(mpi_module name includes text)
  set(dir ${CMAKE_CURRENT_BINARY_DIR}/${name})
  file(MAKE_DIRECTORY ${dir})
  file(WRITE ${dir}/header.txt.new "${text}")
  file(COPY_FILE ${dir}/header.txt.new ${dir}/header.txt ONLY_IF_DIFFERENT)
  add_custom_command(
    OUTPUT ${dir}/stamp BYPRODUCTS ${dir}/mpi_wrap.c ${dir}/mpi_desc.c
    COMMAND Python3::Interpreter -B ${mpi_gen} --api ${mpi_api} --out ${dir} --module ${name}
            --header ${dir}/header.txt
    COMMAND ${CMAKE_COMMAND} -E touch ${dir}/stamp
    DEPENDS ${mpi_gen} ${mpi_api}/functions.json ${mpi_api}/errors.json ${mpi_api}/facts.json
            ${dir}/header.txt
    COMMENT "Generating the MPI wrappers for ${name}" VERBATIM)
  add_custom_target(mpi_gen_${name} DEPENDS ${dir}/stamp)
  add_library(kymo-mpi-${name} MODULE module/module.c ${dir}/mpi_wrap.c ${dir}/mpi_desc.c)
  add_dependencies(kymo-mpi-${name} mpi_gen_${name} mpi_gen record_gen)
  target_include_directories(kymo-mpi-${name} PRIVATE ${MPI_GEN_DIR} ${RECORD_GEN})
  target_include_directories(kymo-mpi-${name} SYSTEM PRIVATE ${includes})
  target_compile_options(kymo-mpi-${name} PRIVATE -Wno-deprecated-declarations)
  target_link_options(kymo-mpi-${name} PRIVATE -Wl,-z,now -Wl,--no-undefined)
  set_target_properties(kymo-mpi-${name} PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/kymo/mpi)
  install(TARGETS kymo-mpi-${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/kymo/mpi)
endfunction()

set(mpi_why "switched off")
if(NOT KYMO_WITH_MPI STREQUAL "off")
  foreach(wanted ${KYMO_MPI_COMPILERS})
    string(MAKE_C_IDENTIFIER "KYMO_MPI_${wanted}" variable)
    find_program(${variable} ${wanted})
    mark_as_advanced(${variable})
    if(${variable})
      mpi_implementation(${${variable}} name includes text)
      if(name AND NOT TARGET kymo-mpi-${name})
        mpi_module(${name} "${includes}" "${text}")
        list(APPEND MPI_MODULES ${name})
        set(KYMO_MPI_COMPILER_${name} ${${variable}} CACHE INTERNAL "")
        set(KYMO_MPI_INCLUDES_${name} "${includes}" CACHE INTERNAL "")
      endif()
    endif()
  endforeach()
  set(mpi_why "modules: ${MPI_MODULES}")
  if(NOT MPI_MODULES)
    set(mpi_why "none of ${KYMO_MPI_COMPILERS} is there: calls of MPI programs are not recorded")
    if(KYMO_WITH_MPI STREQUAL "on")
      message(FATAL_ERROR "KYMO_WITH_MPI=on, but ${mpi_why}")
    endif()
  endif()
endif()
set(KYMO_MPI_MODULES "${MPI_MODULES}" CACHE INTERNAL "")
kymo_feature_line("MPI: ${mpi_why}")
