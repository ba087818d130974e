/*
 * What a bare TOML value is by its form: number, date, time or none of them. Pure.
 */
#ifndef APP_TOML_SCALAR_H
#define APP_TOML_SCALAR_H

enum toml_scalar {
    SCALAR_NONE, /* not TOML */
    SCALAR_INTEGER,
    SCALAR_FLOAT,
    SCALAR_OTHER, /* hexadecimal, octal, binary, inf, nan, dates and times */
};

enum toml_scalar toml_scalar_of(const char *text);

#endif
