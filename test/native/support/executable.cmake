#An executable of cases on some rooms of native /, \
    with or without a sanitizer.What the rooms are made of stands in native / build.json.
set(SANITIZE "" CACHE STRING "address (with undefined) or thread")
    set_property(CACHE SANITIZE PROPERTY STRINGS "" address thread) if (NOT CMAKE_BUILD_TYPE)
        set(CMAKE_BUILD_TYPE Release) endif() set(CMAKE_CXX_FLAGS_RELEASE "-O1 -g1")

            set(repository ${CMAKE_CURRENT_LIST_DIR} /../../..)
                set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${repository} / native /
                             build.json) find_package(Threads REQUIRED)

#The sources of rooms, "base|execution".
                    function(read_rooms rooms result) file(READ ${repository} / native / build.json facts)
                        string(JSON count LENGTH "${facts}" sources) math(EXPR last "${count} - 1") set(found "")
                            foreach (index RANGE ${last}) string(JSON source GET "${facts}" sources ${
                                index}) if (source MATCHES
                                            "^native/(${rooms})/") list(APPEND found ${repository} / ${source}) endif()
                                endforeach() set(${result} ${found} PARENT_SCOPE) endfunction()

                                    function(add_cases name rooms) read_rooms("${rooms}" sources)
                                        set(support ${repository} / test / native / support)
                                            add_executable(${name} ${sources} ${support} / test.cc ${support} /
                                                           rig.cc ${ARGN})
                                                target_compile_features(${name} PRIVATE cxx_std_20)
                                                    target_compile_options(${name} PRIVATE - Wall - Wextra)
                                                        target_link_libraries(${name} PRIVATE Threads::Threads ${
                                                            CMAKE_DL_LIBS}) if (NOT SANITIZE) return () endif()
                                                            set(checks - fsanitize = ${SANITIZE}) if (SANITIZE STREQUAL
                                                                                                      "address")
#vptr checks read type information that a virtual table of TensorRT's need not have
                                                                set(checks - fsanitize = address,
                                                                    undefined - fno - sanitize = vptr) endif()
#GCC : "-fsanitize may give false positives" of this one
                                                                    target_compile_options(${name} PRIVATE ${checks} -
                                                                                           Wno - maybe - uninitialized -
                                                                                           fno - omit - frame - pointer)
                                                                        target_link_options(${name} PRIVATE ${checks})
                                                                            endfunction()
