#if PostgreSQL

internal import Glibc

/// Calls `body` with an array of C strings that ends with nil.
func withCStrings<Result>(
    _ strings: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Result
) -> Result {
    let copies = strings.map { strdup($0) }
    defer { copies.forEach { free($0) } }
    let pointers = copies.map { UnsafePointer($0) } + [nil]
    return pointers.withUnsafeBufferPointer { body($0.baseAddress!) }
}

/// Calls `body` with the addresses of buffers, nil for those that are nil. Nothing is copied: O(buffers).
func withBuffers<Result>(
    _ buffers: [[UInt8]?], _ body: ([UnsafePointer<CChar>?]) -> Result
) -> Result {
    func collect(_ index: Int, _ pointers: inout [UnsafePointer<CChar>?]) -> Result {
        guard index < buffers.count else { return body(pointers) }
        guard let buffer = buffers[index] else {
            pointers.append(nil)
            return collect(index + 1, &pointers)
        }
        // An empty buffer has no address, and for libpq that is null.
        return (buffer.isEmpty ? [0] : buffer).withUnsafeBufferPointer { content in
            content.withMemoryRebound(to: CChar.self) { content in
                pointers.append(content.baseAddress)
                return collect(index + 1, &pointers)
            }
        }
    }
    var pointers: [UnsafePointer<CChar>?] = []
    return collect(0, &pointers)
}

#endif
