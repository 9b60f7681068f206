if(ROOFTILE_SANITIZE)
  add_compile_options(-fsanitize=${ROOFTILE_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${ROOFTILE_SANITIZE})
endif()
if(ROOFTILE_BUILD_FUZZERS) # coverage feedback in the library; main comes with each fuzz target
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
