#if __has_include(<XCTest/XCTest.h>)

#import "EasimTestCase.h"

@implementation EasimTestCase {
  EasimWorld *_testWorld;
}

- (EasimWorld *)world { return _testWorld; }

- (void)setUp {
  [super setUp];
  _testWorld = [[EasimWorld alloc] init];
  XCTAssertNotNil(_testWorld, @"set EASIM_REMOTE in the scheme, and start easim serve --remote");
}

- (void)tearDown {
  if (self.testRun.totalFailureCount > 0 && _testWorld) {
    [self attach:[_testWorld timeline] as:@"easim timeline"];
    [self attach:[_testWorld misuses] as:@"easim misuses"];
  }
  [_testWorld end];
  _testWorld = nil;
  [super tearDown];
}

- (void)attach:(NSString *)text as:(NSString *)name {
  XCTAttachment *attachment = [XCTAttachment attachmentWithString:text ? text : @""];
  attachment.name = name;
  attachment.lifetime = XCTAttachmentLifetimeKeepAlways;
  [self addAttachment:attachment];
}

@end

#endif
