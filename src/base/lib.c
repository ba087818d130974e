#include "base/lib.h"

#include "base/cleanup.h"
#include "base/file.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SEGMENTS_MAX 64
/* A desktop with everything has some 200 KiB. */
#define CACHE "/etc/ld.so.cache"
#define CACHE_INITIAL (64 * 1024)
#define CACHE_MAX (4 * 1024 * 1024)

static bool read_at(int fd, void *out, size_t size, uint64_t offset)
{
    return fd_pread(fd, out, size, offset) == (ssize_t)size;
}

/* A library for this machine is what the dynamic part of this very program is. */
static bool is_for_this_machine(const ElfW(Ehdr) * header)
{
    static const ElfW(Half) machine =
#if defined(__x86_64__)
        EM_X86_64;
#elif defined(__aarch64__)
        EM_AARCH64;
#else
        EM_NONE;
#endif
    static const unsigned char class = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;

    return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 && header->e_ident[EI_CLASS] == class &&
           header->e_type == ET_DYN && (machine == EM_NONE || header->e_machine == machine);
}

/* Every byte that the loader will map is there, and one of the parts says how to link. */
static bool has_segments(int fd, const ElfW(Ehdr) * header, uint64_t file_size)
{
    bool is_linkable = false;

    if (header->e_phentsize != sizeof(ElfW(Phdr)) || header->e_phnum > SEGMENTS_MAX)
        return false;
    for (size_t i = 0; i < header->e_phnum; i++) {
        ElfW(Phdr) segment;
        ElfW(Dyn) first;
        if (!read_at(fd, &segment, sizeof segment, header->e_phoff + i * sizeof segment))
            return false;
        uint64_t end = segment.p_offset + segment.p_filesz;
        if (segment.p_type == PT_LOAD && (end < segment.p_offset || end > file_size))
            return false;
        if (segment.p_type == PT_DYNAMIC)
            is_linkable = segment.p_filesz >= sizeof first &&
                          read_at(fd, &first, sizeof first, segment.p_offset) &&
                          first.d_tag > DT_NULL && first.d_tag < DT_LOOS;
    }
    return is_linkable;
}

/*
 * The table of sections, at the end of the file, is in order: a file whose tail was never written
 * (zeros of the full length, as an interrupted copy leaves) does not have it.
 */
static bool has_sections(int fd, const ElfW(Ehdr) * header)
{
    ElfW(Shdr) names;

    if (header->e_shoff == 0)
        return header->e_shnum == 0;
    return header->e_shentsize == sizeof names && header->e_shstrndx < header->e_shnum &&
           read_at(fd, &names, sizeof names, header->e_shoff + header->e_shstrndx * sizeof names) &&
           names.sh_type == SHT_STRTAB;
}

int lib_check(const char *path)
{
    ElfW(Ehdr) header;
    struct stat file;

    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &file) < 0)
        return -errno;
    bool is_whole = S_ISREG(file.st_mode) && read_at(fd, &header, sizeof header, 0) &&
                    is_for_this_machine(&header) &&
                    has_segments(fd, &header, (uint64_t)file.st_size) && has_sections(fd, &header);
    return is_whole ? 0 : -ENOEXEC;
}

struct lib_search {
    const char *name;
    void *lib;
    bool found_bad;
    char *bad;
};

/* Returns whether the search is over. */
static bool try_path(struct lib_search *search, const char *path)
{
    int error = lib_check(path);

    if (error == -ENOENT || error == -ENOTDIR)
        return false;
    if (error == 0)
        search->lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (search->lib != NULL)
        return true;
    const char *reason = error == 0 ? dlerror() : NULL;
    search->found_bad = true;
    if (reason != NULL)
        snprintf(search->bad, LIB_PROBLEM_MAX, "%s", reason);
    else
        snprintf(search->bad, LIB_PROBLEM_MAX, "%s: %s", path,
                 error == -ENOEXEC ? "damaged or not for this machine" : strerror(-error));
    return false;
}

static bool try_folder(struct lib_search *search, const char *folder)
{
    char path[LIB_PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/%s", folder, search->name);

    return length > 0 && (size_t)length < sizeof path && try_path(search, path);
}

/* LD_LIBRARY_PATH and the system's folders, as this program's loader would search them. */
static bool try_loader_folders(struct lib_search *search)
{
    Dl_serinfo size;
    bool found = false;

    void *self = dlopen(NULL, RTLD_NOW);
    if (self == NULL)
        return false;
    Dl_serinfo *info = dlinfo(self, RTLD_DI_SERINFOSIZE, &size) == 0 ? malloc(size.dls_size) : NULL;
    if (info != NULL && dlinfo(self, RTLD_DI_SERINFOSIZE, info) == 0 &&
        dlinfo(self, RTLD_DI_SERINFO, info) == 0)
        for (unsigned i = 0; i < info->dls_cnt && !found; i++)
            found = try_folder(search, info->dls_serpath[i].dls_name);
    free(info);
    dlclose(self);
    return found;
}

static bool try_folders(struct lib_search *search, const char *const *folders)
{
    for (; folders != NULL && *folders != NULL; folders++)
        if (try_folder(search, *folders))
            return true;
    return false;
}

size_t lib_next_path(const char *data, size_t size, size_t from, const char *name,
                     const char **ret_path)
{
    size_t length = strlen(name) + 1;

    for (size_t at = from; at < size; at++) {
        const char *found = memmem(data + at, size - at, name, length);
        if (found == NULL)
            break;
        at = (size_t)(found - data);
        if (at == 0 || data[at - 1] != '/')
            continue;
        const char *before = memrchr(data, '\0', at);
        const char *path = before != NULL ? before + 1 : data;
        if (path[0] != '/')
            continue;
        *ret_path = path;
        return at + length;
    }
    return 0;
}

/* Folders that only the loader's cache knows of. Its texts are whole paths; the rest is no matter.
 */
static bool try_cache(struct lib_search *search)
{
    struct file cache;
    const char *path;
    bool found = false;

    if (file_open(&cache, AT_FDCWD, CACHE, CACHE_INITIAL, CACHE_MAX) < 0)
        return false;
    if (file_read(&cache) == 0)
        for (size_t at = 0;
             !found && (at = lib_next_path(cache.data, cache.size, at, search->name, &path)) != 0;)
            found = try_path(search, path);
    file_close(&cache);
    return found;
}

int lib_open(const char *name, const char *const *folders, void **ret_lib, char *ret_bad)
{
    struct lib_search search = {.name = name, .bad = ret_bad};

    ret_bad[0] = '\0';
    if (strchr(name, '/') != NULL)
        (void)try_path(&search, name);
    else if (!try_loader_folders(&search) && !try_cache(&search))
        (void)try_folders(&search, folders);
    if (search.lib == NULL)
        return search.found_bad ? -ENOEXEC : -ENOENT;
    *ret_lib = search.lib;
    return 0;
}

void lib_close(void *lib)
{
    if (lib != NULL)
        dlclose(lib);
}

void lib_load(void *lib, const struct lib_symbol *symbols, size_t count, void *table)
{
    for (size_t i = 0; i < count; i++) {
        void *symbol = dlsym(lib, symbols[i].name);
        memcpy((char *)table + symbols[i].offset, &symbol, sizeof symbol);
    }
}
