/*
 * What could not be delivered, saved as gzip CSV where its owner finds it. Reads the spool in
 * pieces, so that memory stays small.
 */
#ifndef NET_LEFTOVER_H
#define NET_LEFTOVER_H

#include "net/spool.h"

/*
 * Saves all rows as FOLDER/resource-tracker-NAME.csv.gz (what cannot be in a file's name becomes
 * '_'; a number is added when there is one of that name) and releases them. 0, with the path in
 * `ret_path` of SPOOL_PATH_MAX bytes; or a negative errno, with the rows still in the spool and no
 * file.
 */
int leftover_save(struct spool *spool, const char *header, const char *folder, const char *name,
                  char *ret_path);

#endif
