internal import SluiceModel
internal import SluiceStorage

/// The size of an upload.
struct UploadSize {
    var operationCount = 0
    /// In bytes on the wire, about.
    var byteCount = 0

    init() {}

    init(_ operations: [ObjectOperation]) {
        operationCount = operations.count
        byteCount = TransactionLimit.estimatedSize(of: operations)
    }

    static func + (left: UploadSize, right: UploadSize) -> UploadSize {
        var sum = left
        sum.operationCount += right.operationCount
        sum.byteCount += right.byteCount
        return sum
    }

    static func - (left: UploadSize, right: UploadSize) -> UploadSize {
        var rest = left
        rest.operationCount -= right.operationCount
        rest.byteCount -= right.byteCount
        return rest
    }
}

/// The uploads that are sent and not acknowledged, with their total size.
struct UploadsUnderWay {
    private var uploads: [(sequence: UInt64, size: UploadSize)] = []
    /// The uploads before this position are acknowledged.
    private var head = 0
    private(set) var size = UploadSize()

    /// Adds the next upload.
    mutating func append(_ sequence: UInt64, _ added: UploadSize) {
        uploads.append((sequence, added))
        size = size + added
    }

    /// Removes the acknowledged uploads. Amortised O(1) for each upload.
    mutating func remove(through sequence: UInt64) {
        while head < uploads.count, uploads[head].sequence <= sequence {
            size = size - uploads[head].size
            head += 1
        }
        guard head > uploads.count / 2 else { return }
        uploads.removeFirst(head)
        head = 0
    }
}
