/* device.c - preloaded beside Sonde: MPICH says that it sends by $DEVICE ("none": says nothing of it; "nameless": not its version either). All else of it stays, MPI_T's variables of the other
 * ways among it: they are all there, whichever it sends by. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int PMPI_Get_library_version(char *text, int *length)
{
    const char *device = getenv("DEVICE");
    if (strcmp(device, "nameless") == 0)
        return *length = sprintf(text, ", MPICH"), 0;
    *length = sprintf(text, strcmp(device, "none") ? "MPICH Version:\t4.0.2\nMPICH Device:\t%s\nMPICH configure: none\n" : "MPICH Version:\t4.0.2", device);
    return 0;
}
