// A test case with a world. If a test fails, the timeline and the app's mistakes are attached to it.

#import <EasimWorld.h>
#import <XCTest/XCTest.h>

@interface EasimTestCase : XCTestCase {
  EasimWorld *_easimWorld;
}
/// Created for each test; the accessories added to it are removed when the test ends.
@property(nonatomic, readonly) EasimWorld *world;
@end
