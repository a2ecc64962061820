// The parts of XCTest that EasimTestCase uses, declared according to Apple's public documentation so that EasimTestCase
// compiles and runs on Linux.

#import <Foundation/Foundation.h>

typedef NS_ENUM(NSInteger, XCTAttachmentLifetime) { XCTAttachmentLifetimeKeepAlways, XCTAttachmentLifetimeDeleteOnSuccess };

@interface XCTAttachment : NSObject {
  NSString *_text, *_name;
  XCTAttachmentLifetime _lifetime;
}
+ (instancetype)attachmentWithString:(NSString *)string;
@property(nonatomic, copy) NSString *name;
@property(nonatomic) XCTAttachmentLifetime lifetime;
@end

@interface XCTestRun : NSObject {
 @public
  NSUInteger _totalFailureCount;
}
@property(nonatomic, readonly) NSUInteger totalFailureCount;
@end

@interface XCTestCase : NSObject {
  XCTestRun *_testRun;
}
@property(nonatomic, readonly) XCTestRun *testRun;
- (void)setUp;
- (void)tearDown;
- (void)addAttachment:(XCTAttachment *)attachment;
@end

#define XCTAssertNotNil(object, ...)                     \
  do {                                                   \
    if (!(object)) self.testRun->_totalFailureCount++;   \
  } while (0)
