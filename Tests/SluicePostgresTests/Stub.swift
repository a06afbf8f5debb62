#if PostgreSQL
import Testing
@testable import SluicePostgres
@Test func stub() { #expect(version() > 0) }
#endif
