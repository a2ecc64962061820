// A test case with a world. If a test fails, what happened and what the app did wrong are attached to it.

#import <EasimWorld.h>
#import <XCTest/XCTest.h>

@interface EasimTestCase : XCTestCase {
  EasimWorld *_easimWorld;
}
/// New in each test; the accessories that it adds are removed when the test ends.
@property(nonatomic, readonly) EasimWorld *world;
@end
