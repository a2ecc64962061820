// Sections 4, 5 and 6.1 of the guide: a session on the main run loop, reads of 1024 bytes, and large data sent in
// pieces of 512 bytes from another queue.
import ExternalAccessory

class AccessoryConnection: NSObject {
  var accessory: EAAccessory?
  var session: EASession?
  var protocolString: String

  var inputStream: InputStream?
  var outputStream: OutputStream?

  // Called with received data; the guide leaves parsing to the app.
  var onData: (Data) -> Void = { _ in }

  init(protocolString: String) {
    self.protocolString = protocolString
    super.init()
  }

  func connect(to accessory: EAAccessory) -> Bool {
    guard accessory.protocolStrings.contains(protocolString) else {
      print("配件不支持协议: \(protocolString)")
      return false
    }

    guard let session = EASession(accessory: accessory, forProtocol: protocolString) else {
      print("创建会话失败")
      return false
    }

    self.accessory = accessory
    self.session = session

    self.inputStream = session.inputStream
    self.outputStream = session.outputStream

    setupStreams()

    return true
  }

  private func setupStreams() {
    inputStream?.delegate = self
    outputStream?.delegate = self

    inputStream?.schedule(in: .main, forMode: .default)
    outputStream?.schedule(in: .main, forMode: .default)

    inputStream?.open()
    outputStream?.open()
  }
}

extension AccessoryConnection: StreamDelegate {
  func stream(_ aStream: Stream, handle eventCode: Stream.Event) {
    switch eventCode {
    case .openCompleted:
      print("流已打开")

    case .hasBytesAvailable:
      if aStream == inputStream {
        readData()
      }

    case .hasSpaceAvailable:
      if aStream == outputStream {
        print("输出流就绪，可以发送数据")
      }

    case .errorOccurred:
      print("流错误: \(aStream.streamError?.localizedDescription ?? "未知错误")")

    case .endEncountered:
      print("流已结束")
      closeSession()

    default:
      break
    }
  }
}

extension AccessoryConnection {
  private static let bufferSize = 1024

  func readData() {
    guard let inputStream = inputStream else { return }

    var buffer = [UInt8](repeating: 0, count: Self.bufferSize)
    var receivedData = Data()

    while inputStream.hasBytesAvailable {
      let bytesRead = inputStream.read(&buffer, maxLength: Self.bufferSize)

      if bytesRead > 0 {
        receivedData.append(buffer, count: bytesRead)
      } else if bytesRead < 0 {
        print("读取数据错误")
        break
      }
    }

    if !receivedData.isEmpty {
      handleReceivedData(receivedData)
    }
  }

  private func handleReceivedData(_ data: Data) {
    print("收到数据: \(data.count) 字节")

    if let string = String(data: data, encoding: .utf8) {
      print("数据内容: \(string)")
    }

    let hexString = data.map { String(format: "%02X", $0) }.joined(separator: " ")
    print("十六进制: \(hexString)")

    onData(data)
  }
}

extension AccessoryConnection {
  @discardableResult
  func sendData(_ data: Data) -> Int {
    guard let outputStream = outputStream else {
      print("输出流不可用")
      return -1
    }

    guard outputStream.hasSpaceAvailable else {
      print("输出流暂时不可写")
      return 0
    }

    let bytesWritten = data.withUnsafeBytes { buffer -> Int in
      guard let pointer = buffer.baseAddress?.assumingMemoryBound(to: UInt8.self) else {
        return -1
      }
      return outputStream.write(pointer, maxLength: data.count)
    }

    if bytesWritten > 0 {
      print("已发送 \(bytesWritten) 字节")
    } else if bytesWritten < 0 {
      print("发送数据失败: \(outputStream.streamError?.localizedDescription ?? "未知错误")")
    }

    return bytesWritten
  }

  func sendString(_ string: String) -> Int {
    guard let data = string.data(using: .utf8) else {
      return -1
    }
    return sendData(data)
  }

  func sendHexCommand(_ hexString: String) -> Int {
    let data = hexStringToData(hexString)
    return sendData(data)
  }

  private func hexStringToData(_ hex: String) -> Data {
    var data = Data()
    var temp = ""

    for char in hex.replacingOccurrences(of: " ", with: "") {
      temp += String(char)
      if temp.count == 2 {
        if let byte = UInt8(temp, radix: 16) {
          data.append(byte)
        }
        temp = ""
      }
    }

    return data
  }
}

extension AccessoryConnection {
  func sendLargeData(_ data: Data, packetSize: Int = 512, completion: @escaping (Bool) -> Void) {
    DispatchQueue.global(qos: .userInitiated).async { [weak self] in
      guard let self = self else {
        completion(false)
        return
      }

      var offset = 0
      let totalSize = data.count

      while offset < totalSize {
        let chunkSize = min(packetSize, totalSize - offset)
        let chunk = data.subdata(in: offset..<(offset + chunkSize))

        while !(self.outputStream?.hasSpaceAvailable ?? false) {
          Thread.sleep(forTimeInterval: 0.01)
        }

        let bytesWritten = self.sendData(chunk)
        if bytesWritten < 0 {
          DispatchQueue.main.async {
            completion(false)
          }
          return
        }

        offset += bytesWritten
      }

      DispatchQueue.main.async {
        completion(true)
      }
    }
  }
}

extension AccessoryConnection {
  func closeSession() {
    inputStream?.close()
    inputStream?.remove(from: .main, forMode: .default)
    inputStream?.delegate = nil
    inputStream = nil

    outputStream?.close()
    outputStream?.remove(from: .main, forMode: .default)
    outputStream?.delegate = nil
    outputStream = nil

    session = nil
    accessory = nil

    print("会话已关闭")
  }
}
