# Writes OUTPUT, the source with VERSION and the revision of SOURCE, if it would differ from what is there:
#   cmake -DSOURCE=... -DVERSION=... -DOUTPUT=... -P cmake/NoteRevision.cmake
# Without a .git of its own a folder may lie in the repository of another project, whose revision says nothing.
cmake_minimum_required(VERSION 3.25)
set(REVISION "")
if(EXISTS ${SOURCE}/.git)
  execute_process(
    COMMAND git --no-optional-locks describe --always --abbrev=7 --exclude=* --dirty=+dirty
    WORKING_DIRECTORY ${SOURCE}
    OUTPUT_VARIABLE REVISION
    OUTPUT_STRIP_TRAILING_WHITESPACE
    ERROR_QUIET)
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/../src/base/version.cpp.in ${OUTPUT} @ONLY)
