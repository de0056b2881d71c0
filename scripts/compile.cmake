# How CMakeLists.txt, test/native and test/fake compile: as units, and through ccache where it is installed.

option(SEPARATE "each file is compiled by itself, as who edits one may want it" OFF)

# What ccache has of one checkout it has for another, too: paths below this one count as relative ones.
find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  get_filename_component(checkout "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${checkout} CCACHE_NOHASHDIR=1 ${CCACHE})
endif()

# unit(RESULT NAME FILE...): a source that includes these files of the current folder, which -iquote has to name; with SEPARATE the files themselves.
function(unit result name)
  if(SEPARATE)
    set(${result} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(text "")
  foreach(file ${ARGN})
    string(APPEND text "#include \"${file}\"\n")
  endforeach()
  set(path ${CMAKE_CURRENT_BINARY_DIR}/units/${name}.unit.cc)
  file(CONFIGURE OUTPUT ${path} CONTENT "${text}" @ONLY)
  set(${result} ${path} PARENT_SCOPE)
endfunction()
