internal import FoundationEssentials

/// How much data takes in messages: never less than any form of it that a message may have.
package struct DataSize: Hashable, Sendable {
    package var byteCount: Int
    /// What a reader counts against its limit of decoded elements.
    package var elementCount: Int

    package init(byteCount: Int = 0, elementCount: Int = 0) {
        self.byteCount = byteCount
        self.elementCount = elementCount
    }

    package static func + (left: DataSize, right: DataSize) -> DataSize {
        DataSize(
            byteCount: left.byteCount + right.byteCount, elementCount: left.elementCount + right.elementCount)
    }

    package static func += (left: inout DataSize, right: DataSize) { left = left + right }

    package static func - (left: DataSize, right: DataSize) -> DataSize {
        DataSize(
            byteCount: left.byteCount - right.byteCount, elementCount: left.elementCount - right.elementCount)
    }

    /// The bytes of a number as a varint (PROTOCOL.md, section 3).
    static func varint(_ value: UInt64) -> Int { (70 - (value | 1).leadingZeroBitCount) / 7 }

    /// The bytes of a signed number.
    static func zigzag(_ value: Int64) -> Int { varint(UInt64(bitPattern: value << 1 ^ value >> 63)) }
}

extension Value {
    /// The value with its tag. A column of values takes no more, with the bytes that collections add for each element.
    package var dataSize: DataSize {
        switch self {
        case .null, .bool: DataSize(byteCount: 1)
        case .int(let number): DataSize(byteCount: 1 + DataSize.zigzag(number))
        case .date(let date): DataSize(byteCount: 1 + DataSize.zigzag(date.microseconds))
        case .float: DataSize(byteCount: 5)
        case .double: DataSize(byteCount: 9)
        case .string(let text): DataSize(byteCount: 6 + text.utf8.count)
        case .data(let data): DataSize(byteCount: 6 + data.count)
        case .uuid, .objectID: DataSize(byteCount: 17)
        case .decimal(let number): DataSize(byteCount: Self.byteCountMax(of: number))
        case .link(let key): DataSize(byteCount: 1 + key.byteCount)
        case .list(let elements), .set(let elements):
            elements.reduce(DataSize(byteCount: 6, elementCount: elements.count)) {
                DataSize(
                    byteCount: $0.byteCount + 1 + $1.dataSize.byteCount,
                    elementCount: $0.elementCount + $1.dataSize.elementCount)
            }
        case .map(let map):
            map.entries.reduce(DataSize(byteCount: 6, elementCount: map.entries.count)) {
                DataSize(
                    byteCount: $0.byteCount + 8 + $1.key.utf8.count + $1.value.dataSize.byteCount,
                    elementCount: $0.elementCount + $1.value.dataSize.elementCount)
            }
        }
    }

    /// Tag, length, sign, point and digits of a decimal, of which there are 39 and those that the exponent adds.
    private static func byteCountMax(of number: Decimal) -> Int { 45 + abs(number.exponent) }
}

extension ObjectKey {
    /// The bytes of the key with its kind.
    package var byteCount: Int {
        switch self {
        case .id, .uuid: 17
        case .int(let key): 1 + DataSize.zigzag(key)
        case .string(let key): 6 + key.utf8.count
        }
    }
}

extension Row {
    /// The whole object: 64 bytes, its key, and for each property 16 bytes and its value.
    package var dataSize: DataSize {
        let whole = values.reduce(DataSize(byteCount: 64 + key.byteCount, elementCount: values.count)) { sum, value in
            let size = value.dataSize
            return DataSize(
                byteCount: sum.byteCount + 16 + size.byteCount, elementCount: sum.elementCount + size.elementCount)
        }
        return hasIdentities
            ? identities.values.reduce(whole) { $0 + DataSize(byteCount: 8 + $1.byteCount) } : whole
    }

    /// What the object takes at the most, where that is known without a look at each element of its long lists; nil
    /// where it has none.
    var quickSizeMax: DataSize? {
        guard hasIdentities else { return nil }
        var whole = DataSize(byteCount: 64 + key.byteCount, elementCount: values.count)
        for (property, value) in values.enumerated() {
            whole.byteCount += 16
            if let list = openList(of: property) {
                whole += list.sizeMax + DataSize(byteCount: 20, elementCount: list.count)
            } else {
                whole += value.dataSize
                if let identity = identity(of: property) { whole.byteCount += 8 + identity.byteCount }
            }
        }
        return whole
    }
}
