/*
 * The disks of the host, from /sys/block, each once: not what stands on other disks, on files or in
 * memory, and not the second path to a disk.
 */
#ifndef DISCOVER_STORAGE_H
#define DISCOVER_STORAGE_H

/* Size of all disks together in GB (10^9 bytes), 0 without any; NaN when there is no list. */
double storage_total_gb(int sys_fd);

#endif
