if(ROOFTILE_SANITIZE)
  add_compile_options(-fsanitize=${ROOFTILE_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${ROOFTILE_SANITIZE})
endif()
