// Differences between compilers and systems, kept here so that the other files need not deal with them. The code
// compiles with and without ARC, defines no blocks, and declares its variables where old runtimes need them.

#import <CoreFoundation/CoreFoundation.h>
#import <ExternalAccessory/ExternalAccessory.h>
#import <Foundation/Foundation.h>

#if __APPLE__
#include <TargetConditionals.h>
#if TARGET_OS_IPHONE && !TARGET_OS_SIMULATOR && !TARGET_OS_MACCATALYST
#error "EasimBridge is for the Simulator and macOS. Leave it out of builds for devices; see its README."
#endif
#if !DEBUG
#error "EasimBridge is for Debug builds. Leave it out of what you ship; see its README."
#endif
#endif

#if __has_feature(objc_arc)
#define EASIM_RETAIN(object) (object)
#define EASIM_RELEASE(object) ((void)0)
#define EASIM_AUTORELEASE(object) (object)
#define EASIM_DEALLOC_SUPER ((void)0)
#define EASIM_UNRETAINED __unsafe_unretained
#define EASIM_ADOPT(type, reference) ((type)CFBridgingRelease(reference))
#else
#define EASIM_RETAIN(object) [(object) retain]
#define EASIM_RELEASE(object) [(object) release]
#define EASIM_AUTORELEASE(object) [(object) autorelease]
#define EASIM_DEALLOC_SUPER [super dealloc]
#define EASIM_UNRETAINED
#define EASIM_ADOPT(type, reference) ((type)[(id)(reference) autorelease])
#endif
