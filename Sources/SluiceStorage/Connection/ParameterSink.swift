internal import SluiceModel

/// What takes values in the form of tables: the parameters of a statement, or the columns of a row of a
/// ``CellTable``, counted from 1.
protocol ParameterSink: AnyObject {
    func bindNull(_ index: Int32)
    func bind(_ index: Int32, _ value: Int64)
    func bind(_ index: Int32, _ value: Double)
    func bind(_ index: Int32, _ value: String)
    func bind(_ index: Int32, _ value: [UInt8])
    func bindBytes(_ index: Int32, _ bytes: UnsafeRawBufferPointer)
}

extension ParameterSink {
    /// Binds an id as 16 bytes, big-endian.
    func bind(_ index: Int32, _ id: ObjectID) {
        withUnsafeBytes(of: (id.high.bigEndian, id.low.bigEndian)) { bindBytes(index, $0) }
    }
}
