// Debian's runtime does not support ARC, and its header does not compile with ARC. With these few declarations, the
// compiler can check the bridge with ARC, which is used on Apple's systems.
#include <objc/objc.h>

typedef struct objc_method *Method;
typedef struct objc_ivar *Ivar;
typedef struct objc_property *objc_property_t;

Class object_getClass(id object);
Method class_getClassMethod(Class type, SEL name);
Method class_getInstanceMethod(Class type, SEL name);
IMP class_getMethodImplementation(Class type, SEL name);
IMP method_getImplementation(Method method);
IMP method_setImplementation(Method method, IMP body);
