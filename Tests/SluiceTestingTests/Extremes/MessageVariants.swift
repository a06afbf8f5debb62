import SluiceModel
import SluiceTesting
import SluiceWire

/// The numbers at which arithmetic and conversions break.
///
/// Read as zigzag they are 0, -1, the ends of 32 bits and of 63, and the least and the greatest number of 64 bits.
let extremeNumbers: [UInt64] = [0, 1, UInt64(Int32.max), UInt64(Int64.max), 1 << 63, .max - 1, .max]

/// A message's bytes, in which numbers can be replaced by others.
struct MessageVariants {
    /// A number of the message that another stands for.
    struct Replacement {
        /// Where the number begins in the message, and how many bytes it takes.
        let offset: Int
        let length: Int
        let number: UInt64
    }

    /// The type of the message, its session and its fields.
    private let body: [UInt8]
    /// Where the length of a view block stands, and how many bytes it takes, if there is one.
    private let blockLength: Range<Int>?
    private let block: Range<Int>?

    /// - Parameter block: the view block that the message has, if it has one.
    init(_ message: some WireMessage, block: ViewBlock? = nil) {
        let frame = Frame.encode(message)
        precondition(frame[0] == 0, "a message so small that it is not compressed")
        let (_, count) = Self.varint(of: frame, at: 1) ?? (0, 1)
        let body = Array(frame[(1 + count)...])
        self.body = body
        guard let block else {
            (blockLength, self.block) = (nil, nil)
            return
        }
        let content = [0] + block.wireBytes()
        let start = body.indices.last { body[$0...].starts(with: content) } ?? 0
        precondition(start > 0, "the message has its block")
        blockLength = start - Self.bytes(of: UInt64(content.count)).count..<start
        self.block = start..<start + content.count
    }

    /// Each number at each place where one may be. Not all of them are well formed.
    var replacements: [Replacement] {
        body.indices.dropFirst().flatMap { offset -> [Replacement] in
            if let blockLength, blockLength.contains(offset) { return [] }
            guard let (value, length) = Self.varint(of: body, at: offset) else { return [] }
            return extremeNumbers.filter { $0 != value }.map {
                Replacement(offset: offset, length: length, number: $0)
            }
        }
    }

    /// The frame with these numbers instead, all lengths being right; nil if they overlap.
    func frame(_ replacements: [Replacement]) -> [UInt8]? {
        let ordered = replacements.sorted { $0.offset > $1.offset }
        for (right, left) in zip(ordered, ordered.dropFirst()) where left.offset + left.length > right.offset {
            return nil
        }
        var body = body
        var growth = 0
        for replacement in ordered {
            let bytes = Self.bytes(of: replacement.number)
            let range = replacement.offset..<replacement.offset + replacement.length
            guard range.upperBound <= body.count else { return nil }
            body.replaceSubrange(range, with: bytes)
            if let block, block.contains(replacement.offset) {
                guard range.upperBound <= block.upperBound else { return nil }
                growth += bytes.count - replacement.length
            }
        }
        if let block, let blockLength {
            let before = ordered.filter { $0.offset < blockLength.lowerBound }
                .reduce(0) { $0 + Self.bytes(of: $1.number).count - $1.length }
            let range = blockLength.lowerBound + before..<blockLength.upperBound + before
            body.replaceSubrange(range, with: Self.bytes(of: UInt64(block.count + growth)))
        }
        return [0] + Self.bytes(of: UInt64(body.count)) + body
    }

    private static func bytes(of number: UInt64) -> [UInt8] {
        var writer = ByteWriter()
        writer.varint(number)
        return writer.bytes
    }

    private static func varint(of bytes: [UInt8], at offset: Int) -> (value: UInt64, length: Int)? {
        guard let end = bytes[offset...].prefix(10).firstIndex(where: { $0 < 0x80 }) else { return nil }
        let value = bytes[offset...end].reversed().reduce(0 as UInt64) { $0 << 7 | UInt64($1 & 0x7F) }
        return (value, end + 1 - offset)
    }

    /// Calls `body` with each frame that can be read: with one number replaced, and then with two, drawn from a seed.
    func forEachReadable<Message: WireMessage>(
        as type: Message.Type, pairCount: Int, _ body: (_ frame: [UInt8], _ name: String) throws -> Void
    ) rethrows {
        var readable: [Replacement] = []
        func offer(_ replacements: [Replacement]) throws -> Bool {
            guard let frame = frame(replacements), (try? Frame.decode(frame, as: Message.self)) != nil else {
                return false
            }
            try body(frame, replacements.map { "\($0.number) at byte \($0.offset)" }.joined(separator: ", "))
            return true
        }
        for replacement in replacements where try offer([replacement]) { readable.append(replacement) }
        guard readable.count > 1 else { return }
        var random = SeededGenerator(seed: UInt64(self.body.count))
        for _ in 0..<pairCount {
            let pair = [0, 1].map { _ in readable[Int.random(in: readable.indices, using: &random)] }
            _ = try offer(pair)
        }
    }
}
